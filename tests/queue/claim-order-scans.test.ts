import { describe, expect, test } from 'vitest'
import type { Db } from '@/lib/db/client'
import { askForWaiters } from '@/lib/queue/ask-for-waiters'
import { poll } from '@/lib/queue/poll'
import { setUpDatabase, testDriver } from '../support/db'
import { insertWork, newOrchestratorId } from '../support/factories'
import { holdRow } from '../support/gate'
import { countPages } from '../support/statements'
import { claimNextOf } from './rows'

const database = await setUpDatabase()
const { sql } = database

/** A handle that takes its Postgres for one with skip scans, or without. */
function handle(hasSkipScan: boolean): Db {
  return Object.assign(database.open().db, { hasSkipScan: () => hasSkipScan })
}

test('a connection of our own tells whether its Postgres has skip scans; until then, and over HTTP, nobody relies on them', async () => {
  const { db } = database.open()
  expect(db.hasSkipScan()).toBe(false)
  await poll(db, { orchestratorId: 'acme', limit: 1, maxBytes: 1 })
  expect(db.hasSkipScan()).toBe(testDriver === 'pg')
})

describe.each([
  ['by skip scan', true],
  ['priority by priority', false],
])('%s', (_name, hasSkipScan) => {
  const db = handle(hasSkipScan)

  test('work behind 20,000 scheduled rows of better priorities is found within a few pages', async () => {
    const orchestratorId = newOrchestratorId()
    await sql(
      `INSERT INTO dispatch_queue (orchestrator_id, payload, priority, available_at)
       SELECT $1, '{}', n % 5 - 5, now() + interval '1 day' FROM generate_series(1, 20000) AS n`,
      [orchestratorId],
    )
    const due: number[] = []
    for (const priority of [0, 0, 3, 3, 7]) due.push((await insertWork(sql, { orchestratorId, priority })).queueId)
    await sql('VACUUM ANALYZE dispatch_queue')

    const found = new Map<string, unknown>()
    const calls: [string, () => Promise<unknown>][] = [
      ['poll', async () => (await poll(db, { orchestratorId, limit: 20, maxBytes: 1_000 })).queued],
      ['wait', () => askForWaiters(db, { orchestrators: [{ orchestratorId, waiters: 9 }], machines: [] })],
      ['one', () => claimNextOf(db, orchestratorId, { limit: 1 })],
      ['many', () => claimNextOf(db, orchestratorId, { limit: 10 })],
    ]
    for (const [name, call] of calls) {
      const pages = await countPages(database, async () => found.set(name, await call()))
      expect(pages, name).toBeLessThan(200)
    }
    expect(found.get('poll')).toMatchObject(due.map((queueId) => ({ queueId })))
    expect(found.get('wait')).toMatchObject({ claimable: new Map([[orchestratorId, 5]]) })
    expect(found.get('one')).toMatchObject(due.slice(0, 1).map((queueId) => ({ queueId })))
    expect(found.get('many')).toMatchObject(due.slice(1).map((queueId) => ({ queueId })))
  })

  test('where rivals hold all work of the best priority, that of the next one is given', async () => {
    const orchestratorId = newOrchestratorId()
    const best = await insertWork(sql, { orchestratorId, priority: -3 })
    const next = await insertWork(sql, { orchestratorId, priority: 4 })
    const gate = await holdRow(database, best.queueId)
    expect(await claimNextOf(db, orchestratorId, { limit: 1 })).toMatchObject([{ queueId: next.queueId }])
    await gate.release()
    expect(await claimNextOf(db, orchestratorId, { limit: 5 })).toMatchObject([{ queueId: best.queueId }])
  })

  test.each([1, 2])(
    'of as many rivals as there are rows, %i for each, nobody goes without: no row is locked in vain',
    async (limit) => {
      const orchestratorId = newOrchestratorId()
      for (let n = 0; n < 20 * limit; n += 1) await insertWork(sql, { orchestratorId, priority: n % 10 })
      const claims = await Promise.all(Array.from({ length: 20 }, () => claimNextOf(db, orchestratorId, { limit })))
      expect(claims.map((own) => own.length)).toStrictEqual(Array.from({ length: 20 }, () => limit))
    },
  )
})
