import type { Config } from '@/lib/config'
import type { Db } from '@/lib/db/client'
import { forgetClaimHint } from '@/lib/instance/claim-hint'
import { log, loggableError } from '@/lib/instance/log'
import { sweepUntilClean } from '@/lib/queue/sweep-and-prune'

/** A sweep that failed is tried again this soon, however long the interval is. */
const RETRY_AFTER_FAILURE_MS = 5_000
/** One sweep off the polling path starts no new batch after this long. */
const BUDGET_MS = 5_000

interface SweepState {
  /** On the monotonic clock. The throttle counts from here, not from a grid and not from the end. */
  startedAt: number
  waitMs: number
  running: boolean
}

const states = new WeakMap<Db, SweepState>()

/**
 * Recovers abandoned claims off the polling path: whoever polls, sweeps. It starts at once, unless a sweep of this
 * instance runs or started less than the interval ago. It never rejects: a poll must not fail on account of housekeeping.
 *
 * @returns the sweep that it started, if any, to be carried past the response and not awaited before it
 */
export function maybeSweepStale(db: Db, settings: Pick<Config, 'sweepIntervalMs'>): Promise<void> | undefined {
  const state = states.get(db) ?? { startedAt: Number.NEGATIVE_INFINITY, waitMs: 0, running: false }
  if (state.running || performance.now() - state.startedAt < state.waitMs) return undefined
  states.set(db, state)
  return sweepStale(db, settings, state)
}

async function sweepStale(
  db: Db,
  { sweepIntervalMs }: Pick<Config, 'sweepIntervalMs'>,
  state: SweepState,
): Promise<void> {
  state.running = true
  state.startedAt = performance.now()
  state.waitMs = sweepIntervalMs
  try {
    const swept = await sweepUntilClean(db, BUDGET_MS)
    if (swept.released > 0) forgetClaimHint(db)
    if (swept.unsweepable > 0) log().error({ unsweepable: swept.unsweepable }, 'rows could not be swept')
  } catch (error) {
    state.waitMs = Math.min(sweepIntervalMs, RETRY_AFTER_FAILURE_MS)
    log().error(loggableError(error), 'the sweep failed; it is tried again soon')
  } finally {
    state.running = false
  }
}
