import { z } from 'zod'
import {
  claimTimeoutMs,
  dedupeKey,
  delayMs,
  maxAttempts,
  optional,
  orchestratorId,
  priority,
  queueId,
} from '@/lib/protocol/fields'
import { jsonValue } from '@/lib/protocol/json-value'

export const enqueueItem = z.strictObject({
  payload: jsonValue,
  enqueueId: optional(z.guid()),
  priority: optional(priority),
  dedupeKey: optional(dedupeKey),
  delayMs: optional(delayMs),
  maxAttempts: optional(maxAttempts),
  claimTimeoutMs: optional(claimTimeoutMs),
})

export const enqueueRequest = z.strictObject({ orchestratorId, items: z.array(enqueueItem).min(1).max(1_000) })

export const enqueueResponse = z.object({
  items: z.array(z.object({ queueId, enqueued: z.boolean() })),
})
