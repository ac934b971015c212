import { z } from 'zod'
import {
  claimTimeoutMs,
  claimToken,
  instant,
  limit,
  machineId,
  optional,
  orchestratorId,
  queueId,
  waitMs,
} from '@/lib/protocol/fields'

export const claimRequest = z.strictObject({
  orchestratorId,
  queueId,
  machineId: optional(machineId),
  claimToken: optional(claimToken),
  previousToken: optional(claimToken),
  claimTimeoutMs: optional(claimTimeoutMs),
})

export const claimNextRequest = z.strictObject({
  orchestratorId,
  machineId: optional(machineId),
  limit: optional(limit),
  claimTimeoutMs: optional(claimTimeoutMs),
  waitMs: optional(waitMs),
})

export const claimed = z.object({
  queueId,
  payload: z.unknown(),
  claimToken,
  attempts: z.int().min(0),
  claimedAt: instant,
  claimExpiresAt: instant,
  leaseMs: claimTimeoutMs,
})

export const claimResponse = z.object({ claim: claimed.nullable() })
export const claimNextResponse = z.object({ claims: z.array(claimed) })
