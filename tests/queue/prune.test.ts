import { expect, test } from 'vitest'
import { prune } from '@/lib/queue/prune'
import { sweepAndPrune } from '@/lib/queue/sweep-and-prune'
import { setUpDatabase } from '../support/db'
import { ago, insertClaimed, insertFinished, insertWork, newOrchestratorId } from '../support/factories'
import { hold, waitUntilBlocked } from '../support/gate'

const database = await setUpDatabase()
const { db, sql } = database
const old = { finishedAt: ago('8 days') }
const left = async (orchestratorId: string) =>
  (await sql('SELECT id FROM dispatch_history WHERE orchestrator_id = $1 ORDER BY id', [orchestratorId])).map(
    ({ id }) => id,
  )

test('finished work is deleted after its days, the oldest first, in batches; live work never is', async () => {
  const orchestratorId = newOrchestratorId()
  const live = [
    await insertWork(sql, { orchestratorId, createdAt: ago('90 days') }),
    await insertClaimed(sql, { orchestratorId, createdAt: ago('90 days') }),
  ]
  const kept = await insertFinished(sql, { orchestratorId, finishedAt: ago('6 days') })
  const newer = await insertFinished(sql, { orchestratorId, ...old })
  const oldest = await insertFinished(sql, { orchestratorId, outcome: 'failed', finishedAt: ago('9 days') })
  expect(await prune(db, { retentionDays: 7, batch: 1 })).toBe(1)
  expect(await left(orchestratorId)).toStrictEqual([kept.queueId, newer.queueId])
  expect(oldest.queueId).toBeGreaterThan(newer.queueId)
  expect(await prune(db, { retentionDays: 7, batch: 10 })).toBe(1)
  expect(await prune(db, { retentionDays: 7, batch: 10 })).toBe(0)
  expect(await left(orchestratorId)).toStrictEqual([kept.queueId])
  const rows = await sql('SELECT id FROM dispatch_queue WHERE orchestrator_id = $1 ORDER BY id', [orchestratorId])
  expect(rows.map(({ id }) => id)).toStrictEqual(live.map(({ queueId }) => queueId))
})

test.each([0, -5])('a retention of %i days keeps what finished within one all the same', async (retentionDays) => {
  const { orchestratorId, queueId } = await insertFinished(sql, { finishedAt: ago('23 hours') })
  await prune(db, { retentionDays, batch: 1_000 })
  expect(await left(orchestratorId)).toStrictEqual([queueId])
})

test('what a retry took out and finished anew meanwhile is kept', async () => {
  const { orchestratorId, queueId } = await insertFinished(sql, old)
  const gate = await hold(database, 'UPDATE dispatch_history SET finished_at = now() WHERE id = $1', [queueId])
  const pruned = prune(db, { retentionDays: 7, batch: 10 })
  await waitUntilBlocked(database, 1)
  await gate.release()
  expect(await pruned).toBe(0)
  expect(await left(orchestratorId)).toStrictEqual([queueId])
})

test('housekeeping twice at once sweeps and prunes everything once', async () => {
  const orchestratorId = newOrchestratorId()
  for (let n = 0; n < 30; n += 1) {
    await insertFinished(sql, { orchestratorId, ...old })
    await insertClaimed(sql, { orchestratorId, claimExpiresAt: ago('1 second') })
  }
  const [one, other] = await Promise.all([
    sweepAndPrune(db, { retentionDays: 7, budgetMs: 20_000 }),
    sweepAndPrune(db, { retentionDays: 7, budgetMs: 20_000 }),
  ])
  expect(one.released + other.released).toBe(30)
  expect(one.pruned + other.pruned).toBe(30)
  expect(one.more || other.more).toBe(false)
})
