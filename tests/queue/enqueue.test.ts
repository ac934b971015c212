import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { cancel } from '@/lib/queue/cancel'
import { enqueue, type NewItem } from '@/lib/queue/enqueue'
import { fail } from '@/lib/queue/fail'
import { poll } from '@/lib/queue/poll'
import { retry } from '@/lib/queue/retry'
import { setUpDatabase } from '../support/db'
import {
  ahead,
  allRows,
  insertClaimed,
  insertFinished,
  insertWork,
  newOrchestratorId,
  onlyRow,
} from '../support/factories'
import { completeAll, holderCalls, mustClaim } from './holders'
import { claimNextOf } from './rows'

const { db, sql } = await setUpDatabase()
const put = (orchestratorId: string, ...items: NewItem[]) =>
  enqueue(db, { orchestratorId, items, defaultMaxAttempts: 4 })
const putOne = async (orchestratorId: string, item: NewItem) => {
  const [answer] = await put(orchestratorId, item)
  if (answer === undefined) throw new Error('no answer for the item')
  return answer
}

describe('an item', () => {
  test.each([
    ['with keys', { enqueueId: randomUUID(), dedupeKey: 'ENG-142' }],
    ['without keys', { enqueueId: undefined, dedupeKey: undefined }],
  ])('%s is stored with all that it says', async (_, keys) => {
    const { queueId, enqueued } = await putOne(newOrchestratorId(), {
      payload: { issue: 'ENG-142' },
      priority: -7,
      delayMs: 2_678_400_000,
      maxAttempts: 9,
      claimTimeoutMs: 5_000,
      ...keys,
    })
    expect(enqueued).toBe(true)
    expect(await onlyRow(sql, queueId)).toMatchObject({
      payload: { issue: 'ENG-142' },
      enqueue_id: keys.enqueueId ?? null,
      priority: -7,
      dedupe_key: keys.dedupeKey ?? null,
      max_attempts: 9,
      claim_timeout_ms: 5_000,
      attempts: 0,
      claimed_at: null,
    })
    const delays = await sql(
      `SELECT available_at - created_at = interval '31 days' AS exact FROM dispatch_queue WHERE id = $1`,
      [queueId],
    )
    expect(delays).toStrictEqual([{ exact: true }])
  })

  test('without options is due at once, with the defaults', async () => {
    const { queueId } = await putOne(newOrchestratorId(), { payload: 'x' })
    expect(await onlyRow(sql, queueId)).toMatchObject({
      priority: 0,
      max_attempts: 4,
      dedupe_key: null,
      claim_timeout_ms: null,
    })
    const due = await sql('SELECT available_at <= now() AS due FROM dispatch_queue WHERE id = $1', [queueId])
    expect(due).toStrictEqual([{ due: true }])
  })

  test.each([
    [null, 'null'],
    [{ a: 1 }, 'object'],
    [[1], 'array'],
    ['x', 'string'],
    [0, 'number'],
    [false, 'boolean'],
  ])('keeps its payload %j as jsonb of that kind, never as text in JSON', async (payload, kind) => {
    const { queueId } = await putOne(newOrchestratorId(), { payload })
    const rows = await sql('SELECT jsonb_typeof(payload) AS kind, payload FROM dispatch_queue WHERE id = $1', [queueId])
    expect(rows).toStrictEqual([{ kind, payload }])
  })
})

test.each([
  ['with keys', (n: number) => ({ dedupeKey: `${(n * 37) % 1_000}` })],
  ['without keys', () => ({})],
])('a thousand items %s get their ids in the order of the call, and are claimed in that order', async (_, keysOf) => {
  const orchestratorId = newOrchestratorId()
  const answers = await put(orchestratorId, ...Array.from({ length: 1_000 }, (_, n) => ({ payload: n, ...keysOf(n) })))
  const rows = await sql<{ id: number; payload: number }>(
    'SELECT id, payload FROM dispatch_queue WHERE orchestrator_id = $1 ORDER BY payload::int',
    [orchestratorId],
  )
  expect(answers).toStrictEqual(rows.map(({ id }) => ({ queueId: id, enqueued: true })))
  const claims = await claimNextOf(db, orchestratorId, { limit: 1_000 })
  expect(claims.map(({ queueId }) => queueId)).toStrictEqual(answers.map(({ queueId }) => queueId))
})

describe('a dedupe key', () => {
  const dedupeKey = 'ENG-142'
  const live: [string, () => Promise<{ queueId: number; orchestratorId: string }>][] = [
    ['queued', () => insertWork(sql, { dedupeKey })],
    ['scheduled', () => insertWork(sql, { dedupeKey, availableAt: ahead('1 hour') })],
    ['claimed', () => insertClaimed(sql, { dedupeKey })],
    ['stale', () => insertClaimed(sql, { dedupeKey, claimExpiresAt: ahead('-1 second') })],
    [
      'waiting for its retry',
      async () => {
        const own = await insertClaimed(sql, { dedupeKey })
        await fail(db, { ...own, error: 'red' })
        return own
      },
    ],
  ]
  test.each(live)('of work that is %s makes no second row: the answer names the first', async (_state, insert) => {
    const { orchestratorId, queueId } = await insert()
    expect(await put(orchestratorId, { payload: 2, dedupeKey })).toStrictEqual([{ queueId, enqueued: false }])
  })

  test.each(['completed', 'failed', 'cancelled'] as const)('of %s work is free again', async (outcome) => {
    const { orchestratorId } = await insertFinished(sql, { dedupeKey, outcome })
    expect(await put(orchestratorId, { payload: 2, dedupeKey })).toMatchObject([{ enqueued: true }])
  })

  test('is one orchestrator’s own, and absent it keeps nothing apart', async () => {
    const [a, b] = [newOrchestratorId(), newOrchestratorId()]
    const answers = [
      ...(await put(a, { payload: 1, dedupeKey }, { payload: 1 }, { payload: 1 })),
      ...(await put(b, { payload: 1, dedupeKey })),
    ]
    expect(answers.every(({ enqueued }) => enqueued)).toBe(true)
    expect(new Set(answers.map(({ queueId }) => queueId)).size).toBe(4)
  })

  test('given twice in one call makes one row, which both answers name', async () => {
    const answers = await put(newOrchestratorId(), { payload: 1, dedupeKey }, { payload: 2 }, { payload: 3, dedupeKey })
    expect(answers.map(({ enqueued }) => enqueued).sort()).toStrictEqual([false, true, true])
    expect(answers[2]?.queueId).toBe(answers[0]?.queueId)
    expect((await allRows(sql, answers[0]?.queueId ?? 0)).queue).toHaveLength(1)
  })
})

describe('an enqueue sent again with its enqueue id', () => {
  const item = () => ({ payload: 1, enqueueId: randomUUID() })

  test('names the same work while it is live, and for as long as it is remembered after it has finished', async () => {
    const [orchestratorId, sent] = [newOrchestratorId(), item()]
    const first = await putOne(orchestratorId, sent)
    const again = { queueId: first.queueId, enqueued: false }
    expect(await putOne(orchestratorId, sent)).toStrictEqual(again)
    const own = await mustClaim(db, { orchestratorId, queueId: first.queueId })
    expect(await putOne(orchestratorId, sent)).toStrictEqual(again)
    await holderCalls.complete(db, own)
    expect(await putOne(orchestratorId, sent)).toStrictEqual(again)
    expect(await allRows(sql, first.queueId)).toMatchObject({ queue: [], history: [{ outcome: 'completed' }] })
  })

  test('names the same work after it was cancelled and put back', async () => {
    const [orchestratorId, sent] = [newOrchestratorId(), item()]
    const { queueId } = await putOne(orchestratorId, sent)
    await cancel(db, queueId)
    expect(await putOne(orchestratorId, sent)).toStrictEqual({ queueId, enqueued: false })
    await retry(db, queueId)
    expect(await putOne(orchestratorId, sent)).toStrictEqual({ queueId, enqueued: false })
  })

  test('makes one row of two in one call, and of a whole batch none', async () => {
    const [orchestratorId, twice, other] = [newOrchestratorId(), item(), item()]
    const first = await put(orchestratorId, twice, other, twice)
    expect(first.map(({ queueId }) => queueId)[2]).toBe(first[0]?.queueId)
    const again = await put(orchestratorId, other, twice)
    expect(again).toStrictEqual([
      { queueId: first[1]?.queueId, enqueued: false },
      { queueId: first[0]?.queueId, enqueued: false },
    ])
  })

  test('goes by the enqueue id, not by the dedupe key that another row has by now', async () => {
    const orchestratorId = newOrchestratorId()
    const sent = { ...item(), dedupeKey: 'ENG-7' }
    const { queueId } = await putOne(orchestratorId, sent)
    await cancel(db, queueId)
    await putOne(orchestratorId, { payload: 2, dedupeKey: 'ENG-7' })
    expect(await putOne(orchestratorId, sent)).toStrictEqual({ queueId, enqueued: false })
  })
})

test('ids past four bytes, and up to the last that a JSON number holds, go the whole way', async () => {
  for (const next of [2_147_483_657, Number.MAX_SAFE_INTEGER]) {
    await sql(`SELECT setval('dispatch_queue_id_seq', $1, false)`, [next])
    const orchestratorId = newOrchestratorId()
    const { queueId } = await putOne(orchestratorId, { payload: 1 })
    expect(queueId).toBe(next)
    const { queued } = await poll(db, { orchestratorId, limit: 5, maxBytes: 1_000 })
    expect(queued).toMatchObject([{ queueId }])
    const claims = await claimNextOf(db, orchestratorId)
    await holderCalls.heartbeat(db, { orchestratorId, queueId, claimToken: claims[0]?.claimToken ?? '' })
    expect(await completeAll(db, claims)).toStrictEqual([{ queueId, outcome: 'completed' }])
  }
  await sql(`SELECT setval('dispatch_queue_id_seq', 9007199254740992, false)`)
  await expect(putOne(newOrchestratorId(), { payload: 1 })).rejects.toMatchObject({
    cause: { constraint: 'dispatch_queue_id_range' },
  })
})
