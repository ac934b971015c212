import { beforeAll, describe, expect, test } from 'vitest'
import { claim } from '@/lib/queue/claim'
import { claimNext } from '@/lib/queue/claim-next'
import { heartbeat } from '@/lib/queue/heartbeat'
import { listWork } from '@/lib/queue/list-work'
import { overview } from '@/lib/queue/overview'
import { poll } from '@/lib/queue/poll'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import { insertClaimed, insertWork } from '../support/factories'
import { countPages } from '../support/statements'

const database = await setUpDatabase()
const { db, sql } = database
const acme = { orchestratorId: 'orchestrator-7' }

/** Puts rows in over fifty orchestrators. */
const insertRows = (count: number, columns: string, values: string, table = 'dispatch_queue') =>
  sql(
    `INSERT INTO ${table} (orchestrator_id, payload, ${columns})
     SELECT 'orchestrator-' || n % 50, jsonb_build_object('issue', 'ENG-' || n), ${values} FROM generate_series(1, $1::int) AS n`,
    [count],
  )

beforeAll(async () => {
  await insertRows(
    200_000,
    'id, outcome, finished_at',
    `n + 1000000, 'completed', now() - n * interval '1 second'`,
    'dispatch_history',
  )
  await insertRows(
    20_000,
    'claimed_at, claimed_by, claim_token, attempts, lease_ms, claim_expires_at',
    `now(), 'machine-' || n % 400, gen_random_uuid(), 1, 600000, now() + interval '10 minutes'`,
  )
  await insertRows(1_000, 'priority', 'n % 5')
  await sql('VACUUM ANALYZE')
})

describe('beside 200,000 finished, 20,000 claimed and 1,000 queued rows of fifty orchestrators', () => {
  test.each([
    ['a poll', () => poll(db, { ...acme, limit: 20, maxBytes: 1_000_000 })],
    ['a poll of a machine', () => poll(db, { ...acme, machineId: 'machine-7', limit: 20, maxBytes: 1_000_000 })],
    ['a claim of the next one', () => claimNext(db, { ...acme, limit: 1, maxBytes: 1_000, defaultLeaseMs: 60_000 })],
    [
      'a claim of the next ten',
      () => claimNext(db, { ...acme, limit: 10, maxBytes: 1_000_000, defaultLeaseMs: 60_000 }),
    ],
    ['a page of the list for people', () => listWork(db, { limit: 50 })],
  ])('%s looks at fewer than 500 pages', async (_what, run) => {
    await run()
    expect(await countPages(database, run)).toBeLessThan(500)
  })

  test('a claim by id looks at a handful of pages', async () => {
    const { queueId } = await insertWork(sql, acme)
    const run = () => claim(db, { ...acme, queueId, defaultLeaseMs: 60_000 })
    expect(await countPages(database, run)).toBeLessThan(40)
  })

  test('the overview does not read all of history', async () => {
    const [{ pages = 0 } = {}] = await sql<{ pages: number }>(
      `SELECT relpages AS pages FROM pg_class WHERE relname = 'dispatch_history'`,
    )
    expect(await countPages(database, () => overview(db, { span: 'hour' }))).toBeLessThan(pages)
  })

  test('a sweep walks the running claims: fifty times the backlog costs it nothing more', async () => {
    const before = await countPages(database, () => sweepStale(db, { batch: 500 }))
    await insertRows(50_000, 'priority', 'n % 5')
    await sql('VACUUM ANALYZE')
    const after = await countPages(database, () => sweepStale(db, { batch: 500 }))
    expect(after).toBeLessThan(before * 1.2)
  })
})

test('a heartbeat is a heap-only update: it touches no index', async () => {
  const own = await insertClaimed(sql)
  // One connection, so that it is the one which is told to hand in its counts.
  const { db: single } = database.open({ DISPATCH_POOL_SIZE: '1' })
  const updates = async () => {
    await single.execute('SELECT pg_stat_force_next_flush()')
    await single.execute('SELECT 1')
    const rows = await sql<{ all: number; hot: number }>(
      `SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE relname = 'dispatch_queue'`,
    )
    return rows[0] ?? { all: 0, hot: 0 }
  }
  const before = await updates()
  for (let n = 0; n < 50; n += 1) await heartbeat(single, { ...own, progress: n, note: `step ${n}` })
  const after = await updates()
  expect(after.all - before.all).toBe(50)
  expect(after.hot - before.hot).toBe(50)
})
