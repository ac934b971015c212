import { z } from 'zod'

const count = z.int().min(0)

export const sweepResponse = z.object({
  released: count,
  failed: count,
  unsweepable: count,
  pruned: count,
  more: z.boolean(),
})

export const healthResponse = z.object({
  ok: z.boolean(),
  database: z.enum(['ok', 'unreachable']),
  migrations: z.enum(['current', 'pending', 'unknown']),
  version: z.string(),
})
