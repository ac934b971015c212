import { z } from 'zod'
import {
  inQuery,
  instant,
  limit,
  machineId,
  orchestratorId,
  priority,
  progress,
  queueId,
  searchText,
  withoutRepeats,
} from '@/lib/protocol/fields'

export const workState = z.enum(['queued', 'scheduled', 'claimed', 'stale', 'completed', 'failed', 'cancelled'])

export const workQuery = z.strictObject({
  orchestratorId: orchestratorId.optional(),
  state: workState.optional(),
  machineId: machineId.optional(),
  q: searchText.optional(),
  minAgeMs: inQuery(z.int().min(0).max(31_536_000_000)).optional(),
  order: z.enum(['newest', 'oldest']).optional(),
  cursor: inQuery(queueId).optional(),
  limit: inQuery(limit).optional(),
})

/** The piece of work named in a path. */
export const workPath = z.strictObject({ queueId: inQuery(queueId) })

const workSummary = {
  queueId,
  orchestratorId,
  state: workState,
  priority,
  attempts: z.int(),
  maxAttempts: z.int(),
  claimedBy: z.string().nullable(),
  claimExpiresAt: instant.nullable(),
  progress: progress.nullable(),
  createdAt: instant,
  finishedAt: instant.nullable(),
  lastError: z.string().nullable(),
  dedupeKey: z.string().nullable(),
  progressNote: z.string().nullable(),
  claimedAt: instant.nullable(),
  availableAt: instant,
}

export const workListResponse = z.object({
  items: z.array(z.object({ ...workSummary, payloadExcerpt: z.string().nullable() })),
  nextCursor: z.string().nullable(),
})

export const workResponse = z.object({
  ...workSummary,
  payload: z.unknown(),
  result: z.unknown(),
  enqueueId: z.string().nullable(),
  claimTimeoutMs: z.int().nullable(),
  attemptLog: z.array(
    z.object({
      attempt: z.int(),
      machine: z.string().nullable(),
      claimedAt: instant.nullable(),
      endedAt: instant,
      how: z.enum(['completed', 'failed', 'released', 'expired', 'cancelled']),
      error: z.string().nullable(),
    }),
  ),
  explanation: z.string(),
})

export const workActionResponse = z.object({ outcome: z.enum(['cancelled', 'queued', 'released']) })

/** A person's action on what they see in a list; a piece of work that changed since is left alone. */
export const workActionsRequest = z.strictObject({
  action: z.enum(['release', 'retry', 'cancel']),
  items: z
    .array(z.strictObject({ queueId, attempts: z.int().min(0), claimedBy: z.string().max(200).nullable() }))
    .min(1)
    .max(100)
    .refine(withoutRepeats, 'must not name a piece of work twice'),
})
export const workActionsResponse = z.object({ changed: z.array(queueId) })
