import { describe, expect, test } from 'vitest'
import { cancel } from '@/lib/queue/cancel'
import { claimNext } from '@/lib/queue/claim-next'
import { completeBatch } from '@/lib/queue/complete-batch'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import { allRows, expireClaim, insertWork, newOrchestratorId } from '../support/factories'
import { holdRow, waitUntilBlocked } from '../support/gate'
import { completeAll, DEFAULT_LEASE_MS, holderCalls, mustClaim, type Own, reasonOf, refusalOf } from './holders'

const database = await setUpDatabase()
const { db, sql } = database
const byIsolation = [
  { level: 'read committed', at: database },
  {
    level: 'repeatable read',
    at: await setUpDatabase({ settings: { default_transaction_isolation: 'repeatable read' } }),
  },
]

describe.each(byIsolation)('at $level', ({ at }) => {
  test.each(['complete', 'fail', 'release'] as const)(
    'a %s that races its own heartbeat succeeds: it never hears that its claim is lost',
    async (name) => {
      for (let round = 0; round < 5; round += 1) {
        const own = await mustClaim(at.db, await insertWork(at.sql))
        const gate = await holdRow(at, own.queueId)
        const beat = reasonOf(holderCalls.heartbeat(at.db, own))
        await waitUntilBlocked(at, 1)
        const settled = reasonOf(holderCalls[name](at.db, own))
        await waitUntilBlocked(at, 2)
        await gate.release()
        expect(await settled).toBe('accepted')
        expect(['accepted', 'completed', 'released']).toContain(await beat)
      }
    },
  )

  test('two identical completes at one instant get the same answer, and leave one record', async () => {
    const own = await mustClaim(at.db, await insertWork(at.sql))
    const gate = await holdRow(at, own.queueId)
    const both = [reasonOf(holderCalls.complete(at.db, own)), reasonOf(holderCalls.complete(at.db, own))]
    await waitUntilBlocked(at, 2)
    await gate.release()
    expect(await Promise.all(both)).toStrictEqual(['accepted', 'accepted'])
    expect(await allRows(at.sql, own.queueId)).toMatchObject({ queue: [], history: [{ outcome: 'completed' }] })
  })
})

test.each(Object.entries(holderCalls))(
  'a %s and a person’s cancel at one instant have one effect between them',
  async (name, call) => {
    const own = await mustClaim(db, await insertWork(sql, { maxAttempts: 1 }))
    const gate = await holdRow(database, own.queueId)
    const both = [reasonOf(call(db, own)), refusalOf(cancel(db, own.queueId))] as const
    await waitUntilBlocked(database, 2)
    await gate.release()
    const [answer, refused] = await Promise.all(both)
    const { queue, history } = await allRows(sql, own.queueId)
    expect(queue).toStrictEqual([])
    expect(history).toHaveLength(1)
    if (name === 'heartbeat' || name === 'release') expect(refused).toBeUndefined()
    else expect(answer === 'accepted').toBe(refused !== undefined)
    expect(history).toMatchObject([{ outcome: refused === undefined ? 'cancelled' : expect.any(String) }])
  },
)

test('a lease runs from the statement that set it, however long that waited for the row', async () => {
  const own = await mustClaim(db, await insertWork(sql), { leaseMs: 60_000 })
  await expireClaim(sql, own.queueId)
  const gate = await holdRow(database, own.queueId)
  const [before] = await sql<{ at: string }>('SELECT clock_timestamp()::text AS at')
  const beat = holderCalls.heartbeat(db, own)
  await waitUntilBlocked(database, 1)
  await gate.release()
  await beat
  const rows = await sql(
    `SELECT claim_expires_at >= $2::timestamptz + interval '1 minute' AS whole FROM dispatch_queue WHERE id = $1`,
    [own.queueId, before?.at],
  )
  expect(rows).toStrictEqual([{ whole: true }])
})

async function claimMany(count: number): Promise<Own[]> {
  const orchestratorId = newOrchestratorId()
  await sql(
    `INSERT INTO dispatch_queue (orchestrator_id, payload) SELECT $1, to_jsonb(n) FROM generate_series(1, $2) AS n`,
    [orchestratorId, count],
  )
  const claims = await claimNext(db, {
    orchestratorId,
    limit: count,
    maxBytes: 1_000_000,
    defaultLeaseMs: DEFAULT_LEASE_MS,
  })
  return claims.map((claimed) => ({ orchestratorId, ...claimed }))
}

test('two batches of the same fifty ids in opposite orders, with sweeps beside them, never deadlock', async () => {
  for (let round = 0; round < 100; round += 1) {
    const claims = await claimMany(50)
    const [one, other] = await Promise.all([
      completeAll(db, claims),
      completeAll(db, claims.toReversed()),
      sweepStale(db, { batch: 100 }),
    ])
    expect(one.every(({ outcome }) => outcome === 'completed')).toBe(true)
    expect(other).toStrictEqual(one.toReversed())
  }
})

test('a batch waits for the heartbeat of one of its rows, and completes that one too', async () => {
  const claims = await claimMany(5)
  const [, , third] = claims
  if (third === undefined) throw new Error('five were claimed')
  const gate = await holdRow(database, third.queueId)
  const beat = holderCalls.heartbeat(db, third)
  await waitUntilBlocked(database, 1)
  const batch = completeAll(db, claims)
  await waitUntilBlocked(database, 2)
  await gate.release()
  await beat
  expect((await batch).map(({ outcome }) => outcome)).toStrictEqual(Array(5).fill('completed'))
})

test('a batch keeps each claim’s own result, and a lost one holds back no other', async () => {
  const [one, two, three, lost] = await claimMany(4)
  if (!one || !two || !three || !lost) throw new Error('four were claimed')
  await holderCalls.release(db, lost)
  const { orchestratorId } = one
  const entry = ({ queueId, claimToken }: Own) => ({ queueId, claimToken })
  const claims = [
    entry(lost),
    { ...entry(three), result: null },
    { ...entry(one), result: JSON.parse('{"__proto__": {"x": 1}, "pullRequest": 77}') },
    entry(two),
  ]
  const answer = await completeBatch(db, { orchestratorId, claims })
  expect(answer.map(({ outcome }) => outcome)).toStrictEqual(['lost', 'completed', 'completed', 'completed'])
  expect(await completeBatch(db, { orchestratorId, claims })).toStrictEqual(answer)
  const results = await sql('SELECT id, result::text FROM dispatch_history WHERE orchestrator_id = $1 ORDER BY id', [
    orchestratorId,
  ])
  expect(results).toStrictEqual([
    { id: one.queueId, result: '{"__proto__": {"x": 1}, "pullRequest": 77}' },
    { id: two.queueId, result: null },
    { id: three.queueId, result: 'null' },
  ])
})
