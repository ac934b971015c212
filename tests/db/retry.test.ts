import { sql } from 'drizzle-orm'
import { describe, expect, test, vi } from 'vitest'
import { retryConflicts, retryRead } from '@/lib/db/retry'
import { read, statement } from '@/lib/db/statement'
import { setUpDatabase } from '../support/db'
import { insertWork, onlyRow } from '../support/factories'
import { hold, holdRow, waitUntilBlocked } from '../support/gate'

const coded = (code: string) => Object.assign(new Error(code), { code })

/** Fails with each of the errors in turn, then gives 'done'. */
function failing(...errors: Error[]) {
  return vi.fn(async () => {
    const error = errors.shift()
    if (error !== undefined) throw error
    return 'done'
  })
}

describe('retryConflicts', () => {
  test.each(['40001', '40P01'])('runs again after %s, up to three times', async (code) => {
    const run = failing(coded(code), coded(code), coded(code))
    expect(await retryConflicts(run)).toBe('done')
    expect(run).toHaveBeenCalledTimes(4)
  })

  test('gives up with the conflict itself when the fourth run fails too', async () => {
    const last = coded('40P01')
    const run = failing(coded('40001'), coded('40001'), coded('40001'), last)
    await expect(retryConflicts(run)).rejects.toBe(last)
    expect(run).toHaveBeenCalledTimes(4)
  })

  test('hands on any other error at once, also one that follows a conflict', async () => {
    for (const other of [coded('57014'), coded('23505'), new TypeError('x is not a function')]) {
      const first = failing(other)
      await expect(retryConflicts(first)).rejects.toBe(other)
      expect(first).toHaveBeenCalledTimes(1)
      const second = failing(coded('40001'), other)
      await expect(retryConflicts(second)).rejects.toBe(other)
      expect(second).toHaveBeenCalledTimes(2)
    }
  })
})

describe('retryRead', () => {
  test('runs once more when the database was out of reach for a moment', async () => {
    const run = failing(coded('ECONNRESET'))
    expect(await retryRead(run)).toBe('done')
    expect(run).toHaveBeenCalledTimes(2)
  })

  test('gives up with the second failure', async () => {
    const last = coded('57P03')
    const run = failing(coded('ECONNRESET'), last)
    await expect(retryRead(run)).rejects.toBe(last)
    expect(run).toHaveBeenCalledTimes(2)
  })

  test('hands on at once what another run cannot mend', async () => {
    const run = failing(coded('42P01'))
    await expect(retryRead(run)).rejects.toThrow('42P01')
    expect(run).toHaveBeenCalledTimes(1)
  })

  test('does not run again after a failure that itself took seconds, so that the caller is answered', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const run = vi.fn(async () => {
        vi.advanceTimersByTime(5_000)
        throw coded('57014')
      })
      await expect(retryRead(run)).rejects.toThrow('57014')
      expect(run).toHaveBeenCalledTimes(1)
    } finally {
      vi.useRealTimers()
    }
  })
})

const setPriority = statement(
  'test_set_priority',
  { priority: read.number },
  sql`UPDATE dispatch_queue SET priority = priority + 1 WHERE id = ${sql.placeholder('queueId')} RETURNING priority`,
)

describe.each(['repeatable read', 'serializable'])('a statement at %s', async (level) => {
  const database = await setUpDatabase({ settings: { default_transaction_isolation: level } })

  test('that lost to a concurrent commit runs again by itself, and counts on what was committed', async () => {
    const { queueId } = await insertWork(database.sql)
    const gate = await holdRow(database, queueId)
    await gate.run('UPDATE dispatch_queue SET priority = 10 WHERE id = $1', [queueId])
    const rival = setPriority(database.db, { queueId })
    await waitUntilBlocked(database, 1)
    await gate.release('commit')
    expect(await rival).toStrictEqual([{ priority: 11 }])
    expect(await onlyRow(database.sql, queueId)).toMatchObject({ priority: 11 })
  })
})

describe('a statement', async () => {
  // The statement looks for a deadlock first, and so is the one that Postgres ends.
  const database = await setUpDatabase({ settings: { deadlock_timeout: '500ms' } })
  const lockBoth = statement(
    'test_lock_both',
    { done: read.number },
    sql`SELECT 1 FROM (SELECT pg_advisory_xact_lock(2), pg_advisory_xact_lock(1)) AS locks`,
  )

  test('that was ended to resolve a deadlock runs again by itself', async () => {
    const gate = await hold(database, 'SELECT pg_advisory_xact_lock(1)')
    await gate.run(`SET LOCAL deadlock_timeout = '1min'`)
    const rival = lockBoth(database.db, {})
    await waitUntilBlocked(database, 1)
    await gate.run('SELECT pg_advisory_xact_lock(2)')
    await gate.release('commit')
    expect(await rival).toStrictEqual([{ done: 1 }])
  })
})
