import { setTimeout as wait } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { TestDatabase } from './db'

const POLL_MS = 10
const LIMIT_MS = 60_000

/** An open transaction that holds locks, behind which rivals gather. */
export interface Gate {
  /** Runs another statement in the holder's transaction. */
  run(text: string, params?: readonly unknown[]): Promise<void>
  /** Ends the transaction. The gate is released by itself, with a rollback, when the test ends. */
  release(how?: 'commit' | 'rollback'): Promise<void>
}

/** Locks a row of live work. */
export const holdRow = (database: TestDatabase, queueId: number): Promise<Gate> =>
  hold(database, 'SELECT FROM dispatch_queue WHERE id = $1 FOR UPDATE', [queueId])

/** Opens a transaction and takes in it whatever locks a statement takes. */
export async function hold(database: TestDatabase, text: string, params: readonly unknown[] = []): Promise<Gate> {
  const holder = await database.connect()
  const run = async (text: string, params: readonly unknown[] = []): Promise<void> => {
    await holder.query(text, [...params])
  }
  let isOpen = true
  const release: Gate['release'] = async (how = 'commit') => {
    if (!isOpen) return
    isOpen = false
    await run(how)
    await holder.end()
  }
  onTestFinished(() => release('rollback'))
  await run('BEGIN ISOLATION LEVEL READ COMMITTED')
  await run(text, params)
  return { run, release }
}

/**
 * Comes back as soon as this many connections to the database wait for a lock.
 *
 * @throws {Error} after a minute, with what the connections do instead
 */
export async function waitUntilBlocked(database: TestDatabase, count: number): Promise<void> {
  const since = performance.now()
  for (;;) {
    const backends = await database.sql<{ state: string | null; wait: string | null; query: string }>(
      `SELECT state, wait_event_type AS wait, left(regexp_replace(query, '\\s+', ' ', 'g'), 80) AS query
         FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    )
    const blocked = backends.filter((backend) => backend.wait === 'Lock').length
    if (blocked >= count) return
    if (performance.now() - since > LIMIT_MS) {
      const seen = backends.map((backend) => `${backend.state} ${backend.wait} ${backend.query}`)
      throw new Error(`${blocked} connections wait for a lock, not ${count}:\n${seen.join('\n')}`)
    }
    await wait(POLL_MS)
  }
}
