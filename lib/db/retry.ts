import { setTimeout as sleep } from 'node:timers/promises'
import pRetry from 'p-retry'
import { isConflict, isUnreachable } from '@/lib/db/errors'

/** Tries again what Postgres refused only because of who ran at the same moment (40001, 40P01): at most 3 times more. */
export function retryConflicts<T>(run: () => Promise<T>): Promise<T> {
  return run().catch((error: unknown) => {
    if (!isConflict(error)) throw error
    return pRetry(run, {
      retries: 2,
      minTimeout: 5,
      factor: 3,
      randomize: true,
      shouldRetry: ({ error }) => isConflict(error),
    })
  })
}

/** A failure that took longer than this was a time limit: another run would keep the caller waiting for as long again. */
const QUICK_FAILURE_MS = 2_000

/** Before the second run; spread, so that those who failed together do not come back together. */
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [250, 500]

/** Tries a statement that only reads once more when it failed at once for want of the database, as of a Neon endpoint that is waking up. */
export async function retryRead<T>(run: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  try {
    return await run()
  } catch (error) {
    if (!isUnreachable(error) || performance.now() - startedAt > QUICK_FAILURE_MS) throw error
    await sleep(SHORTEST_PAUSE_MS + Math.random() * (LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS))
    return run()
  }
}
