import { setUpDatabase, type TestDatabase } from '../support/db'

/** A database for each isolation level at which a holder's own calls have to get through. */
export async function setUpLevels(): Promise<{ level: string; at: TestDatabase }[]> {
  const levels = ['read committed', 'repeatable read']
  return Promise.all(
    levels.map(async (level) => ({
      level,
      at: await setUpDatabase({ settings: { default_transaction_isolation: level } }),
    })),
  )
}

/**
 * Settings of a database in which a deadlock is never resolved, and ends as a lock timeout. The code under test repeats
 * what Postgres ends as a deadlock, so that no test would see it; a lock timeout reaches the caller.
 */
export const unresolvedDeadlocks = { deadlock_timeout: '1min', lock_timeout: '4s' }
