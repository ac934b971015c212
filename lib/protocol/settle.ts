import { z } from 'zod'
import {
  claimLostReason,
  claimTimeoutMs,
  claimToken,
  delayMs,
  freeText,
  instant,
  optional,
  orchestratorId,
  progress,
  queueId,
  withoutRepeats,
} from '@/lib/protocol/fields'
import { jsonValue } from '@/lib/protocol/json-value'

const ownClaim = { orchestratorId, queueId, claimToken }

export const heartbeatRequest = z.strictObject({
  ...ownClaim,
  progress: optional(progress),
  note: optional(freeText),
  claimTimeoutMs: optional(claimTimeoutMs),
})
export const heartbeatResponse = z.object({ claimExpiresAt: instant, leaseMs: claimTimeoutMs })

export const completeRequest = z.strictObject({ ...ownClaim, result: jsonValue.optional() })
export const completeResponse = z.object({ outcome: z.literal('completed') })

export const completeBatchRequest = z.strictObject({
  orchestratorId,
  claims: z
    .array(z.strictObject({ queueId, claimToken, result: jsonValue.optional() }))
    .min(1)
    .max(100)
    .refine(withoutRepeats, 'names the same queueId twice'),
})
export const completeBatchResponse = z.object({
  results: z.array(
    z.discriminatedUnion('outcome', [
      z.object({ queueId, outcome: z.literal('completed') }),
      z.object({ queueId, outcome: z.literal('lost'), reason: claimLostReason }),
    ]),
  ),
})

export const failRequest = z.strictObject({
  ...ownClaim,
  error: freeText,
  retryable: optional(z.boolean()),
  retryDelayMs: optional(delayMs),
})
export const failResponse = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('retrying'), availableAt: instant }),
  z.object({ outcome: z.literal('failed') }),
])

export const releaseRequest = z.strictObject(ownClaim)
export const releaseResponse = z.object({ outcome: z.literal('released') })
