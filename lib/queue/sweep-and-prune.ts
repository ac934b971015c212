import type { Db } from '@/lib/db/client'
import { prune } from '@/lib/queue/prune'
import { type SweepCounts, sweepStale } from '@/lib/queue/sweep-stale'

const SWEEP_BATCH = 500
const PRUNE_BATCH = 1_000

export interface HousekeepingAnswer extends SweepCounts {
  pruned: number
  /** The time was up first: run it again. */
  more: boolean
}

/**
 * Sweeps in batches until nothing is stale or the time is up. Each batch stands for itself, so being stopped midway
 * leaves nothing half done, and any number may run at once.
 *
 * @param budgetMs no new batch starts after it
 */
export async function sweepUntilClean(db: Db, budgetMs: number): Promise<SweepCounts & { more: boolean }> {
  const deadline = performance.now() + budgetMs
  const total = { released: 0, failed: 0, unsweepable: 0 }
  while (performance.now() < deadline) {
    const swept = await sweepStale(db, { batch: SWEEP_BATCH })
    const moved = swept.released + swept.failed
    total.released += swept.released
    total.failed += swept.failed
    total.unsweepable = swept.unsweepable
    // Rows that cannot be swept are met again in every batch; only progress is a reason to go on.
    if (moved === 0 || moved + swept.unsweepable < SWEEP_BATCH) return { ...total, more: false }
  }
  return { ...total, more: true }
}

/** {@link sweepUntilClean}, then deletes old history in batches while there is time. */
export async function sweepAndPrune(
  db: Db,
  { retentionDays, budgetMs }: { retentionDays: number; budgetMs: number },
): Promise<HousekeepingAnswer> {
  const deadline = performance.now() + budgetMs
  const swept = await sweepUntilClean(db, budgetMs)
  let pruned = 0
  while (performance.now() < deadline) {
    const deleted = await prune(db, { retentionDays, batch: PRUNE_BATCH })
    pruned += deleted
    if (deleted < PRUNE_BATCH) return { ...swept, pruned }
  }
  return { ...swept, pruned, more: true }
}
