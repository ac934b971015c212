import { createServer } from 'node:net'
import { sql } from 'drizzle-orm'
import { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { isUnreachable, sqlState } from '@/lib/db/errors'
import { read, statement } from '@/lib/db/statement'
import { poll } from '@/lib/queue/poll'
import { setUpDatabase, type TestDatabase, testDriver } from '../support/db'
import { insertWork, onlyRow } from '../support/factories'
import { holdRow, waitUntilBlocked } from '../support/gate'

const setPriority = statement(
  'test_set_priority',
  { priority: read.number },
  sql`UPDATE dispatch_queue SET priority = 5 WHERE id = ${sql.placeholder('queueId')} RETURNING priority`,
)
const oneRow = { rows: [{ number: 1 }] }
const selectOne = sql`SELECT 1 AS number`

/** The connections on which a statement with this text is running. */
const running = (database: TestDatabase, text: string) =>
  database.sql(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query = $1`,
    [text],
  )

describe.runIf(testDriver === 'pg')('a direct pg connection', async () => {
  const database = await setUpDatabase({ environment: { DISPATCH_POOL_SIZE: '5' } })
  const { db } = database

  test.each([
    ['statement_timeout', '5s'],
    ['lock_timeout', '4s'],
    ['idle_in_transaction_session_timeout', '5s'],
  ])('has a %s of %s', async (setting, value) => {
    expect(await db.execute(sql.raw(`SHOW ${setting}`))).toMatchObject({ rows: [{ [setting]: value }] })
  })

  test('plans a statement once, however many rows there are and however large its LIMIT', async () => {
    const { db } = database.open({ DISPATCH_POOL_SIZE: '1' })
    await database.sql(
      `INSERT INTO dispatch_queue (orchestrator_id, payload) SELECT 'acme', '{}' FROM generate_series(1, 20000)`,
    )
    await database.sql('ANALYZE dispatch_queue')
    for (let n = 0; n < 10; n += 1) await poll(db, { orchestratorId: 'acme', machineId: 'mac', limit: 20, maxBytes: 1 })
    const plans = sql`SELECT custom_plans::text AS plans FROM pg_prepared_statements WHERE name = 'poll'`
    expect(await db.execute(plans)).toMatchObject({ rows: [{ plans: '0' }] })
  })

  test('keeps no session settings where a pooler stands between', async () => {
    const { db } = database.open({ DISPATCH_NAMED_STATEMENTS: 'off' })
    expect(await db.execute(sql`SHOW statement_timeout`)).toMatchObject({ rows: [{ statement_timeout: '0' }] })
  })

  test('that is lost while idle ends neither the process nor the next statement', async () => {
    await Promise.all([1, 2, 3].map(() => db.execute(selectOne)))
    const ended = await database.sql(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'idle' AND application_name = '' AND pid <> pg_backend_pid()
          AND query = 'SELECT 1 AS number'`,
    )
    expect(ended).toHaveLength(3)
    const answers = await Promise.allSettled([1, 2, 3, 4].map(() => db.execute(selectOne)))
    for (const answer of answers) if (answer.status === 'rejected') expect(isUnreachable(answer.reason)).toBe(true)
    expect(await db.execute(selectOne)).toMatchObject(oneRow)
  })

  test('that is lost in the middle of a statement fails that statement as unreachable, and nothing else', async () => {
    const { queueId } = await insertWork(database.sql)
    const gate = await holdRow(database, queueId)
    const error = setPriority(db, { queueId }).catch((error: unknown) => error)
    await waitUntilBlocked(database, 1)
    await database.sql(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    expect(isUnreachable(await error)).toBe(true)
    await gate.release('rollback')
    expect(await db.execute(selectOne)).toMatchObject(oneRow)
    expect(await onlyRow(database.sql, queueId)).toMatchObject({ priority: 0 })
  })

  test('that is lost while somebody holds it ends only what its holder does next', async () => {
    if (!('$client' in db && db.$client instanceof Pool)) throw new Error('not a pg pool')
    const held = await db.$client.connect()
    const { rows } = await held.query('SELECT pg_backend_pid() AS pid')
    const lost = new Promise((resolve) => held.once('end', resolve))
    await database.sql('SELECT pg_terminate_backend($1, 5000)', [rows[0].pid])
    await lost
    expect(isUnreachable(await held.query('SELECT 1').catch((error: unknown) => error))).toBe(true)
    held.release(true)
    expect(await db.execute(selectOne)).toMatchObject(oneRow)
  })

  test('a statement that waits for a lock too long is ended by Postgres, does nothing later, and leaves the pool usable', async () => {
    const { queueId } = await insertWork(database.sql)
    const gate = await holdRow(database, queueId)
    const error = await setPriority(db, { queueId }).catch((error: unknown) => error)
    expect(sqlState(error)).toBe('55P03')
    expect(isUnreachable(error)).toBe(true)
    expect(
      await database.sql(
        `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      ),
    ).toStrictEqual([])
    await gate.release('commit')
    expect(await db.execute(selectOne)).toMatchObject(oneRow)
    expect(await onlyRow(database.sql, queueId)).toMatchObject({ priority: 0 })
  })

  test.concurrent('a statement that runs too long is ended by Postgres before the client gives up, so that none goes on unseen', async () => {
    const error = await db.execute(sql.raw('SELECT pg_sleep(61)')).catch((error: unknown) => error)
    expect(sqlState(error)).toBe('57014')
    expect(isUnreachable(error)).toBe(true)
    expect(await running(database, 'SELECT pg_sleep(61)')).toStrictEqual([])
    expect(await db.execute(selectOne)).toMatchObject(oneRow)
  })

  test.concurrent('an exhausted pool fails as unreachable instead of waiting for ever, and works when a connection is free again', async () => {
    // Without the session's own limits the first statement keeps the only connection beyond the limit for getting one.
    const { db } = database.open({ DISPATCH_POOL_SIZE: '1', DISPATCH_NAMED_STATEMENTS: 'off' })
    const holder = db.execute(sql`SELECT pg_sleep(60)`).catch((error: unknown) => error)
    const error = await db.execute(selectOne).catch((error: unknown) => error)
    expect(isUnreachable(error)).toBe(true)
    await database.sql(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = 'SELECT pg_sleep(60)'`,
    )
    expect(sqlState(await holder)).toBe('57014')
    expect(await db.execute(selectOne)).toMatchObject(oneRow)
  })

  test.concurrent.for([
    ['refuses connections', false],
    ['accepts connections and says nothing', true],
  ] as const)('a server that %s is unreachable', async ([, accepts], { onTestFinished }) => {
    const server = createServer(() => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    if (!accepts) await new Promise((resolve) => server.close(resolve))
    const port = typeof address === 'object' ? address?.port : undefined
    const { db } = database.open({ DATABASE_URL: `postgres://nobody:secret@127.0.0.1:${port}/postgres` })
    const error = await db.execute(selectOne).catch((error: unknown) => error)
    expect(isUnreachable(error)).toBe(true)
  })
})
