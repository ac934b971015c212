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
} from '@/lib/protocol/fields'

export const workState = z.enum(['queued', 'scheduled', 'claimed', 'stale', 'completed', 'failed', 'cancelled'])

export const workQuery = z.strictObject({
  orchestratorId: orchestratorId.optional(),
  state: workState.optional(),
  machineId: machineId.optional(),
  q: searchText.optional(),
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
}

export const workListResponse = z.object({
  items: z.array(z.object(workSummary)),
  nextCursor: z.string().nullable(),
})

export const workResponse = z.object({
  ...workSummary,
  payload: z.unknown(),
  result: z.unknown(),
  dedupeKey: z.string().nullable(),
  enqueueId: z.string().nullable(),
  availableAt: instant,
  claimedAt: instant.nullable(),
  claimTimeoutMs: z.int().nullable(),
  progressNote: z.string().nullable(),
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
