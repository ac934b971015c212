import { HOUSEKEEPING_BUDGET_MS } from '@/lib/http/cron'
import { methods } from '@/lib/http/methods'
import { nothing, route } from '@/lib/http/route'
import { sweepAndPrune } from '@/lib/queue/sweep-and-prune'

/**
 * What the cron does, for people: sweeps until nothing is stale or 20 s are up, then prunes.
 * 200 `{released, failed, unsweepable, pruned, more}`. Sent twice, or two at once: harmless.
 */
const post = route({
  roles: [],
  query: nothing,
  handle: ({ db, config }) =>
    sweepAndPrune(db, { retentionDays: config.retentionDays, budgetMs: HOUSEKEEPING_BUDGET_MS }),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
