import { z } from 'zod'
import { claimed } from '@/lib/protocol/claim'
import {
  claimLostReason,
  claimTimeoutMs,
  claimToken,
  freeText,
  inQuery,
  instant,
  limit,
  machineId,
  optional,
  orchestratorId,
  priority,
  progress,
  queueId,
  waitMs,
  withoutRepeats,
} from '@/lib/protocol/fields'

export const pollQuery = z.strictObject({
  orchestratorId,
  machineId: machineId.optional(),
  limit: inQuery(limit).optional(),
  waitMs: inQuery(waitMs).optional(),
})

const holding = z
  .array(z.strictObject({ queueId, claimToken, progress: optional(progress), note: optional(freeText) }))
  .max(1_000)
  .refine(withoutRepeats, 'names the same queueId twice')

export const pollRequest = z.strictObject({
  orchestratorId,
  machineId: optional(machineId),
  limit: optional(limit),
  waitMs: optional(waitMs),
  holding: optional(holding),
})

const queued = z.object({
  queueId,
  priority,
  attempts: z.int().min(0),
  createdAt: instant,
  availableAt: instant,
})

export const pollQueryResponse = z.object({
  queued: z.array(queued),
  held: z.array(claimed),
  pollAfterMs: z.int(),
})

export const pollResponse = pollQueryResponse.extend({
  renewed: z.array(z.object({ queueId, claimExpiresAt: instant, leaseMs: claimTimeoutMs })),
  lost: z.array(z.object({ queueId, reason: claimLostReason })),
})
