import { describe, expect, test } from 'vitest'
import { setUpDatabase, testDriver } from '../support/db'
import { ahead, insertClaimed, insertWork, newOrchestratorId, onlyRow } from '../support/factories'
import { hold } from '../support/gate'
import type { Own } from './holders'
import { claimNextOf, insertMany } from './rows'

const database = await setUpDatabase()
const { db, sql } = database
// With these off the planner picks nested loops, and runs a plain sub-select once for each row.
const nestedLoops = await setUpDatabase({
  settings: Object.fromEntries(
    ['hashjoin', 'mergejoin', 'hashagg', 'material', 'sort'].map((method) => [`enable_${method}`, 'off']),
  ),
})

const idsInOrder = async (orchestratorId: string) =>
  (
    await sql<{ id: number }>(
      'SELECT id FROM dispatch_queue WHERE orchestrator_id = $1 ORDER BY priority, available_at, id',
      [orchestratorId],
    )
  ).map((row) => row.id)

/** Claims until nothing is left. */
async function* drain(orchestratorId: string, limit: number): AsyncGenerator<Own[]> {
  for (;;) {
    const claims = await claimNextOf(db, orchestratorId, { limit })
    if (claims.length === 0) return
    yield claims
  }
}

describe('a single caller', () => {
  test.each([1, 10])('gets the work in claim order, %i at a time', async (limit) => {
    const orchestratorId = await insertMany(sql, 60, { priority: '(n * 7) % 5 - 2' })
    const expected = await idsInOrder(orchestratorId)
    const got: number[] = []
    for await (const claims of drain(orchestratorId, limit)) got.push(...claims.map(({ queueId }) => queueId))
    expect(got).toStrictEqual(expected)
  })

  test.each([1, 5])('of %i gets each claim whole: payload, token, attempt, lease', async (limit) => {
    const { orchestratorId, queueId } = await insertWork(sql, {
      payload: null,
      attempts: 1,
      claimTimeoutMs: 7_000,
      progress: 3,
    })
    const [claimed, ...others] = await claimNextOf(db, orchestratorId, { limit, machineId: 'laptop' })
    expect(others).toStrictEqual([])
    expect(claimed).toMatchObject({ queueId, attempts: 2, leaseMs: 7_000, payload: { text: 'null' } })
    expect(await onlyRow(sql, queueId)).toMatchObject({
      claimed_by: 'laptop',
      claim_token: claimed?.claimToken,
      attempts: 2,
      progress: null,
    })
  })

  test.each([1, 5])(
    'of %i gets nothing of what is scheduled, claimed, stale or another orchestrator’s',
    async (limit) => {
      const orchestratorId = newOrchestratorId()
      await insertWork(sql, { orchestratorId, availableAt: ahead('1 hour') })
      await insertClaimed(sql, { orchestratorId })
      await insertClaimed(sql, { orchestratorId, claimExpiresAt: ahead('-1 second') })
      await insertWork(sql)
      await insertClaimed(sql, { claimExpiresAt: ahead('-1 second') })
      expect(await claimNextOf(db, orchestratorId, { limit })).toStrictEqual([])
    },
  )
})

test('an answer ends before it grows too large, but never before its first claim', async () => {
  const orchestratorId = newOrchestratorId()
  for (let n = 0; n < 4; n += 1) await insertWork(sql, { orchestratorId, payload: 'x'.repeat(998) })
  const sizes: number[] = []
  for (const maxBytes of [1_001, 10, 5_000]) {
    sizes.push((await claimNextOf(db, orchestratorId, { limit: 10, maxBytes })).length)
  }
  expect(sizes).toStrictEqual([2, 1, 1])
})

test('priority is strict: the better one goes first, however long the other has waited', async () => {
  const { orchestratorId, queueId } = await insertWork(sql, { priority: 9, availableAt: ahead('-1 day') })
  for (let n = 0; n < 20; n += 1) {
    const better = await insertWork(sql, { orchestratorId, priority: 0 })
    expect(await claimNextOf(db, orchestratorId)).toMatchObject([{ queueId: better.queueId }])
  }
  expect(await claimNextOf(db, orchestratorId)).toMatchObject([{ queueId }])
})

test.each([1, 2, 3, 50])('never takes more than its limit of %i, whatever plan Postgres chooses', async (limit) => {
  for (const at of [database, nestedLoops]) {
    const orchestratorId = await insertMany(at.sql, 1_000)
    expect(await claimNextOf(at.db, orchestratorId, { limit })).toHaveLength(limit)
    const claimed = await at.sql(
      'SELECT count(*)::int AS n FROM dispatch_queue WHERE orchestrator_id = $1 AND claimed_at IS NOT NULL',
      [orchestratorId],
    )
    expect(claimed).toStrictEqual([{ n: limit }])
  }
})

test('fifty callers on a thousand rows get every row once, and none more than its limit', async () => {
  if (testDriver === 'pg') await database.warm(50)
  const orchestratorId = await insertMany(sql, 1_000)
  const limits = Array.from({ length: 50 }, (_, n) => (n % 3 === 0 ? 1 : (n % 30) + 1))
  const takeAll = async (limit: number) => {
    const ids: number[] = []
    for await (const claims of drain(orchestratorId, limit)) {
      expect(claims.length).toBeLessThanOrEqual(limit)
      ids.push(...claims.map(({ queueId }) => queueId))
    }
    return ids
  }
  const got = (await Promise.all(limits.map(takeAll))).flat().sort((a, b) => a - b)
  expect(got).toStrictEqual((await idsInOrder(orchestratorId)).sort((a, b) => a - b))
  expect(got).toHaveLength(1_000)
})

test('callers that drain together keep the priorities apart, but for what is in flight', async () => {
  const orchestratorId = await insertMany(sql, 500, { priority: 'n % 5' })
  const priorityOf = new Map(
    (
      await sql<{ id: number; priority: number }>(
        'SELECT id, priority FROM dispatch_queue WHERE orchestrator_id = $1',
        [orchestratorId],
      )
    ).map((row) => [row.id, row.priority]),
  )
  const order: number[] = []
  const takeAll = async () => {
    for await (const claims of drain(orchestratorId, 5)) {
      order.push(...claims.map(({ queueId }) => priorityOf.get(queueId) ?? -1))
    }
  }
  await Promise.all(Array.from({ length: 8 }, takeAll))
  expect(order).toHaveLength(500)
  order.forEach((priority, place) => {
    const betterLater = order.slice(place).filter((later) => later < priority).length
    expect(betterLater).toBeLessThanOrEqual(8 * 5)
  })
})

test('work that others are taking at this moment is passed over, not waited for', async () => {
  const orchestratorId = await insertMany(sql, 3)
  const [first, second, third] = await idsInOrder(orchestratorId)
  await hold(database, 'SELECT FROM dispatch_queue WHERE id = $1 FOR UPDATE', [first])
  expect(await claimNextOf(db, orchestratorId)).toMatchObject([{ queueId: second }])
  expect(await claimNextOf(db, orchestratorId, { limit: 5 })).toMatchObject([{ queueId: third }])
})

test.each(['repeatable read', 'serializable'])(
  'at %s callers that lose get other work or none, never an error',
  async (level) => {
    const at = await setUpDatabase({ settings: { default_transaction_isolation: level } })
    const orchestratorId = await insertMany(at.sql, 30)
    const claims = await Promise.all(
      Array.from({ length: 40 }, (_, n) => claimNextOf(at.db, orchestratorId, { limit: (n % 2) + 1 })),
    )
    const ids = claims.flat().map(({ queueId }) => queueId)
    expect(new Set(ids).size).toBe(ids.length)
  },
)
