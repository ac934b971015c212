import { z } from 'zod'
import { instant, orchestratorId, queueId } from '@/lib/protocol/fields'

export const overviewQuery = z.strictObject({
  orchestratorId: orchestratorId.optional(),
  span: z.enum(['hour', 'day']).optional(),
})

const milliseconds = z.number()
/** The median and the 95th percentile. */
const quantiles = z.tuple([milliseconds, milliseconds]).nullable()

export const overviewResponse = z.object({
  at: instant,
  /** Each up to 10,001, which means more than 10,000. */
  queued: z.int(),
  scheduled: z.int(),
  claimed: z.int(),
  stale: z.int(),
  staleForMs: milliseconds.nullable(),
  oldestQueuedMs: milliseconds.nullable(),
  /** Orchestrators with work that waits and no machine seen for minutes. */
  unattended: z.array(z.object({ orchestratorId, machineSeenMs: milliseconds.nullable() })),
  completedLastHour: z.int(),
  failedLastHour: z.int(),
  cancelledLastHour: z.int(),
  /** Start of a minute (of a quarter of an hour for a day) in seconds since 1970, then how many were completed, and failed. */
  series: z.array(z.tuple([z.number(), z.int(), z.int()])),
  /** What is said of finished work is of the newest 25,000 only. */
  isPartial: z.boolean(),
  timeToClaimMs: quantiles,
  runTimeMs: quantiles,
})

export const machinesQuery = z.strictObject({ orchestratorId: orchestratorId.optional() })

export const machinesResponse = z.object({
  machines: z.array(
    z.object({
      orchestratorId,
      machineId: z.string(),
      version: z.string().nullable(),
      lastSeenAt: instant,
      seenMs: milliseconds,
      /** The first ten ids of what it holds. */
      holding: z.array(queueId),
      /** How much it holds, up to 1,001. */
      holds: z.int(),
      completedLastHour: z.int(),
    }),
  ),
})
