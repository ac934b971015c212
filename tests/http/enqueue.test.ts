import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { enqueueResponse } from '@/lib/protocol/enqueue'
import { allRows, insertFinished, newOrchestratorId } from '../support/factories'
import { expectAnswer, expectInvalid } from './answers'
import { everyRow, insertKey, setUpInstance } from './instance'

const { sql, send } = await setUpInstance({ environment: { DISPATCH_MAX_ATTEMPTS: '7' } })
const key = await insertKey(sql, 'producer')
const enqueue = (json: object) => send('POST', '/api/enqueue', { key, json })
const items = (count: number) => Array.from({ length: count }, (_, index) => ({ payload: index }))

test('201 with an id for each item, in the order of the request', async () => {
  const orchestratorId = newOrchestratorId()
  const answer = expectAnswer(await enqueue({ orchestratorId, items: items(1_000) }), 201, enqueueResponse)
  expect(answer.items.every((item) => item.enqueued)).toBe(true)
  const stored = await sql<{ id: number }>(
    'SELECT id FROM dispatch_queue WHERE orchestrator_id = $1 ORDER BY payload',
    [orchestratorId],
  )
  expect(answer.items.map((item) => item.queueId)).toStrictEqual(stored.map((row) => row.id))
})

test.each([0, 1_001])('400 for %i items, and none is stored', async (count) => {
  const before = await everyRow(sql)
  expectInvalid(await enqueue({ orchestratorId: newOrchestratorId(), items: items(count) }), 'items')
  expect(await everyRow(sql)).toStrictEqual(before)
})

test('400 that names each bad item, and none of the good ones is stored', async () => {
  const before = await everyRow(sql)
  const list = [
    { payload: 1 },
    { payload: 2, priority: 5_000 },
    { payload: 3 },
    'no item',
    { payload: 4, dedupeKey: '' },
  ]
  const answer = await enqueue({ orchestratorId: newOrchestratorId(), items: list })
  expectInvalid(answer, 'items[1].priority', 'items[3]', 'items[4].dedupeKey')
  expect(await everyRow(sql)).toStrictEqual(before)
})

test('201 stores every option, and the defaults of the settings', async () => {
  const options = { priority: -3, dedupeKey: 'LIN-7', delayMs: 90_000, maxAttempts: 9, claimTimeoutMs: 5_000 }
  const enqueueId = randomUUID()
  const answer = await enqueue({
    orchestratorId: newOrchestratorId(),
    items: [
      { payload: 1, enqueueId, ...options },
      { payload: 2, dedupeKey: null, delayMs: null, enqueueId: null },
    ],
  })
  const ids = expectAnswer(answer, 201, enqueueResponse).items.map((item) => item.queueId)
  const rows = await sql(
    `SELECT priority, dedupe_key, max_attempts, claim_timeout_ms, enqueue_id,
            extract(epoch FROM available_at - created_at)::int AS delay
       FROM dispatch_queue WHERE id = ANY ($1) ORDER BY id`,
    [ids],
  )
  expect(rows).toStrictEqual([
    { priority: -3, dedupe_key: 'LIN-7', max_attempts: 9, claim_timeout_ms: 5_000, enqueue_id: enqueueId, delay: 90 },
    { priority: 0, dedupe_key: null, max_attempts: 7, claim_timeout_ms: null, enqueue_id: null, delay: 0 },
  ])
})

test('201 with the row that is there, when the dedupe key is live, within one request too', async () => {
  const orchestratorId = newOrchestratorId()
  const item = { payload: 1, dedupeKey: 'LIN-7' }
  const first = expectAnswer(await enqueue({ orchestratorId, items: [item, item] }), 201, enqueueResponse)
  const again = expectAnswer(await enqueue({ orchestratorId, items: [item] }), 201, enqueueResponse)
  const queueId = first.items[0]?.queueId
  expect(first.items).toStrictEqual([
    { queueId, enqueued: true },
    { queueId, enqueued: false },
  ])
  expect(again.items).toStrictEqual([{ queueId, enqueued: false }])
})

test('201 with the same id for an enqueue that is repeated after the work was finished, and no second row', async () => {
  const enqueueId = randomUUID()
  const { queueId, orchestratorId } = await insertFinished(sql, { enqueueId })
  const answer = expectAnswer(
    await enqueue({ orchestratorId, items: [{ payload: 1, enqueueId }] }),
    201,
    enqueueResponse,
  )
  expect(answer.items).toStrictEqual([{ queueId, enqueued: false }])
  expect(await allRows(sql, queueId)).toMatchObject({ queue: { length: 0 }, history: { length: 1 } })
})

test('201 when twenty send the same dedupe key at once: one row, of which all get the id', async () => {
  const json = { orchestratorId: newOrchestratorId(), items: [{ payload: 1, dedupeKey: 'LIN-7' }] }
  const answers = await Promise.all(Array.from({ length: 20 }, () => enqueue(json)))
  const got = answers.flatMap((answer) => expectAnswer(answer, 201, enqueueResponse).items)
  expect(new Set(got.map((item) => item.queueId)).size).toBe(1)
  expect(got.filter((item) => item.enqueued)).toHaveLength(1)
})
