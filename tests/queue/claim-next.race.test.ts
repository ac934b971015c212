import { expect, test } from 'vitest'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase, testDriver } from '../support/db'
import { unresolvedDeadlocks } from './claims'
import { claimRow, completeAll, type Own } from './holders'
import { claimNextOf, insertMany } from './rows'

const database = await setUpDatabase({ settings: unresolvedDeadlocks })
const { db, sql } = database

/** Lets the leases of all claims run out that nobody is writing to: itself it waits for no lock. */
const expireIdle = (orchestratorId: string) =>
  sql(
    `UPDATE dispatch_queue SET claim_expires_at = now() - interval '1 second'
      WHERE id = ANY (ARRAY(SELECT id FROM dispatch_queue WHERE orchestrator_id = $1 AND claimed_at IS NOT NULL
                               FOR UPDATE SKIP LOCKED))`,
    [orchestratorId],
  )

test('a thousand batches, claimed at once and completed overlapping in opposite orders beside sweeps, never deadlock', async () => {
  const orchestratorId = await insertMany(sql, 3_000)
  const next = () => claimNextOf(db, orchestratorId, { limit: 3 })
  const everyones: Own[] = []
  const work = async (isReversed: boolean) => {
    for (let round = 0; round < 63; round += 1) {
      const claims = (await Promise.all([next(), next(), next(), next()])).flat()
      everyones.push(...claims)
      if (round % 5 === 0) await Promise.all([expireIdle(orchestratorId), sweepStale(db, { batch: 100 })])
      // Each batch has this caller's claims, and those that another one completes at this moment.
      const batch = new Map([...claims, ...everyones.slice(-12)].map((own) => [own.queueId, own]))
      const inOrder = [...batch.values()].sort((a, b) => a.queueId - b.queueId)
      if (inOrder.length > 0) await completeAll(db, isReversed ? inOrder.reverse() : inOrder)
    }
  }
  await Promise.all([work(false), work(true), work(false), work(true)])
  const rows = await sql(
    `SELECT (SELECT count(*)::int FROM dispatch_queue WHERE orchestrator_id = $1)
          + (SELECT count(*)::int FROM dispatch_history WHERE orchestrator_id = $1) AS rows,
            (SELECT count(*)::int FROM dispatch_queue WHERE orchestrator_id = $1 AND claimed_at IS NOT NULL) AS claimed`,
    [orchestratorId],
  )
  expect(rows).toStrictEqual([{ rows: 3_000, claimed: 0 }])
})

test('claims by id and claims of the next ones at one instant give each row to one of them', async () => {
  if (testDriver === 'pg') await database.warm(40)
  for (let round = 0; round < 5; round += 1) {
    const orchestratorId = await insertMany(sql, 20)
    const rows = await sql<{ id: number }>('SELECT id FROM dispatch_queue WHERE orchestrator_id = $1', [orchestratorId])
    const claims = await Promise.all([
      ...rows.map(async ({ id }) => [await claimRow(db, { orchestratorId, queueId: id })]),
      ...Array.from({ length: 20 }, (_, n) => claimNextOf(db, orchestratorId, { limit: (n % 3) + 1 })),
    ])
    const got = claims.flat().flatMap((claimed) => (claimed === null ? [] : [claimed.queueId]))
    expect(got.sort((a, b) => a - b)).toStrictEqual(rows.map(({ id }) => id).sort((a, b) => a - b))
    const attempts = await sql('SELECT DISTINCT attempts FROM dispatch_queue WHERE orchestrator_id = $1', [
      orchestratorId,
    ])
    expect(attempts).toStrictEqual([{ attempts: 1 }])
  }
})
