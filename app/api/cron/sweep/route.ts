import { getConfig } from '@/lib/config'
import { getDb } from '@/lib/db/client'
import { HOUSEKEEPING_BUDGET_MS, requireCronSecret } from '@/lib/http/cron'
import { jsonResponse } from '@/lib/http/json'
import { methods } from '@/lib/http/methods'
import { answered } from '@/lib/http/route'
import { sweepAndPrune } from '@/lib/queue/sweep-and-prune'

/** Seconds that the platform lets the function run: above the housekeeping's own budget. */
export const maxDuration = 60

/**
 * The daily backstop: sweeps until nothing is stale or 20 s are up, then prunes.
 * 200 `{released, failed, unsweepable, pruned, more}`; 401 without the cron secret. Two at once are harmless.
 */
const get = answered(async (request) => {
  const config = getConfig()
  requireCronSecret(request, config)
  const answer = await sweepAndPrune(getDb(), { retentionDays: config.retentionDays, budgetMs: HOUSEKEEPING_BUDGET_MS })
  return jsonResponse(answer, 200)
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ GET: get })
