import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { enqueue } from '@/lib/queue/enqueue'
import { setUpDatabase } from '../support/db'
import { newOrchestratorId } from '../support/factories'
import { hold, waitUntilBlocked } from '../support/gate'

const database = await setUpDatabase()
const { db, sql } = database
const put = (orchestratorId: string, items: { payload: unknown; dedupeKey?: string; enqueueId?: string }[]) =>
  enqueue(db, { orchestratorId, items, defaultMaxAttempts: 3 })

const rowsOf = (orchestratorId: string) =>
  sql('SELECT id FROM dispatch_queue WHERE orchestrator_id = $1', [orchestratorId])

describe.each([
  ['dedupe key', 'dedupe_key', { dedupeKey: 'ENG-142' }],
  ['enqueue id', 'enqueue_id', { enqueueId: randomUUID() }],
])('of twenty that enqueue one %s at once', (_what, column, key) => {
  const value = Object.values(key)[0]

  test('one makes the row, and all are told its id', async () => {
    const orchestratorId = newOrchestratorId()
    const answers = (
      await Promise.all(Array.from({ length: 20 }, () => put(orchestratorId, [{ payload: 1, ...key }])))
    ).flat()
    expect(answers.filter(({ enqueued }) => enqueued)).toHaveLength(1)
    expect(new Set(answers.map(({ queueId }) => queueId)).size).toBe(1)
    expect(await rowsOf(orchestratorId)).toHaveLength(1)
  })

  test.each(['commit', 'rollback'] as const)(
    'all wait for another’s open transaction, and go by its %s',
    async (how) => {
      const orchestratorId = newOrchestratorId()
      const gate = await hold(
        database,
        `INSERT INTO dispatch_queue (orchestrator_id, payload, ${column}) VALUES ($1, '1', $2)`,
        [orchestratorId, value],
      )
      const all = Array.from({ length: 20 }, () => put(orchestratorId, [{ payload: 1, ...key }]))
      await waitUntilBlocked(database, 20)
      await gate.release(how)
      const answers = (await Promise.all(all)).flat()
      expect(answers.filter(({ enqueued }) => enqueued)).toHaveLength(how === 'commit' ? 0 : 1)
      expect(new Set(answers.map(({ queueId }) => queueId)).size).toBe(1)
      expect(await rowsOf(orchestratorId)).toHaveLength(1)
    },
  )
})

test('batches of the same keys in opposite orders wait for each other and never deadlock', async () => {
  for (let round = 0; round < 30; round += 1) {
    const orchestratorId = newOrchestratorId()
    const items = Array.from({ length: 50 }, (_, n) => ({ payload: n, dedupeKey: `key-${n}`, enqueueId: randomUUID() }))
    const [one, other] = await Promise.all([put(orchestratorId, items), put(orchestratorId, items.toReversed())])
    expect(other.toReversed().map(({ queueId }) => queueId)).toStrictEqual(one.map(({ queueId }) => queueId))
    expect(await rowsOf(orchestratorId)).toHaveLength(50)
  }
})
