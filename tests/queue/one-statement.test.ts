import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { cancel } from '@/lib/queue/cancel'
import { enqueue } from '@/lib/queue/enqueue'
import { poll } from '@/lib/queue/poll'
import { prune } from '@/lib/queue/prune'
import { releaseByPerson } from '@/lib/queue/release-by-person'
import { retry } from '@/lib/queue/retry'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import { insertClaimed, insertFinished, insertWork } from '../support/factories'
import { recordStatements } from '../support/statements'
import { claimRow, completeAll, holderCalls, type Own, reasonOf } from './holders'
import { claimNextOf } from './rows'

const database = await setUpDatabase()
const { db, sql } = database

const holding = ({ queueId, claimToken }: Own) => [{ queueId, claimToken }]
const operations: [string, (own: Own) => Promise<unknown>][] = [
  [
    'enqueue',
    ({ orchestratorId }) =>
      enqueue(db, {
        orchestratorId,
        items: [{ payload: 1, dedupeKey: 'a', enqueueId: randomUUID() }, { payload: 2 }],
        defaultMaxAttempts: 3,
      }),
  ],
  ['poll', (own) => poll(db, { ...own, machineId: 'laptop', limit: 20, maxBytes: 1_000 })],
  ['poll that renews', (own) => poll(db, { ...own, holding: holding(own), limit: 20, maxBytes: 1_000 })],
  ['claim', async (own) => claimRow(db, own)],
  ['claim of the next one', (own) => claimNextOf(db, own.orchestratorId)],
  ['claim of the next five', (own) => claimNextOf(db, own.orchestratorId, { limit: 5 })],
  ...Object.entries(holderCalls).map(([name, call]): [string, (own: Own) => Promise<unknown>] => [
    name,
    (own) => call(db, own),
  ]),
  ['complete of a batch', (own) => completeAll(db, [own])],
  ['sweep', () => sweepStale(db, { batch: 10 })],
  ['cancel', ({ queueId }) => cancel(db, queueId)],
  ['release by a person', ({ queueId }) => releaseByPerson(db, queueId)],
  ['prune', () => prune(db, { retentionDays: 1, batch: 10 })],
]

test.each(operations)('%s is one statement', async (_name, run) => {
  const own = await insertClaimed(sql)
  await insertWork(sql, { orchestratorId: own.orchestratorId })
  const { statements } = await recordStatements(database, () => run(own))
  expect(statements).toHaveLength(1)
})

test('retry is one statement', async () => {
  const { queueId } = await insertFinished(sql, { outcome: 'failed' })
  const { statements } = await recordStatements(database, () => retry(db, queueId))
  expect(statements).toHaveLength(1)
})

test.each(Object.entries(holderCalls))('a %s that is refused adds one, which only reads', async (_name, call) => {
  const own = { ...(await insertClaimed(sql)), claimToken: randomUUID() }
  const { result, statements } = await recordStatements(database, () => reasonOf(call(db, own)))
  expect(result).toBe('reclaimed')
  expect(statements).toHaveLength(2)
  expect(statements.filter((text) => !/\b(UPDATE|INSERT|DELETE)\b/i.test(text))).toHaveLength(1)
})

test('a claim that is lost is one statement, too', async () => {
  const { claimToken: _token, ...claimed } = await insertClaimed(sql)
  const { result, statements } = await recordStatements(database, () => claimRow(db, claimed))
  expect(result).toBeNull()
  expect(statements).toHaveLength(1)
})
