import { describe, expect, test } from 'vitest'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import { ago, allRows, expireClaim, insertClaimed, insertWork } from '../support/factories'
import { hold, holdRow, waitUntilBlocked } from '../support/gate'
import { holderCalls, mustClaim, reasonOf } from './holders'
import { claimNextOf, expireAll, insertMany } from './rows'

const database = await setUpDatabase()
const { db, sql } = database
const sweep = () => sweepStale(db, { batch: 1_000 })

const abandon = async (maxAttempts: number) => {
  const own = await mustClaim(db, await insertWork(sql, { maxAttempts }), { machineId: 'laptop' })
  await expireClaim(sql, own.queueId)
  return own
}

describe.each([
  ['with attempts left', 3],
  ['at its last attempt', 1],
])('work whose lease is over, %s', (_what, maxAttempts) => {
  test.each(Object.entries(holderCalls))(
    '%s first, sweep at the same instant: the holder wins, and the sweep passes on',
    async (_name, call) => {
      const own = await abandon(maxAttempts)
      const gate = await holdRow(database, own.queueId)
      const answer = reasonOf(call(db, own))
      await waitUntilBlocked(database, 1)
      expect(await sweep()).toMatchObject({ released: 0, failed: 0 })
      await gate.release()
      expect(await answer).toBe('accepted')
      const { queue, history } = await allRows(sql, own.queueId)
      expect(queue.length + history.length).toBe(1)
    },
  )

  test.each(Object.entries(holderCalls))(
    'sweep first, %s at the same instant: one effect after the other, and no row lost',
    async (name, call) => {
      const own = await abandon(maxAttempts)
      // The sweep stops at the row's own trigger, with the row locked.
      await sql(`CREATE OR REPLACE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN coalesce(NEW, OLD); END $$`)
      await sql(
        'CREATE TRIGGER wait_here BEFORE UPDATE OR DELETE ON dispatch_queue FOR EACH ROW EXECUTE FUNCTION wait_here()',
      )
      const gate = await hold(database, 'SELECT pg_advisory_xact_lock(1)')
      const swept = sweep()
      await waitUntilBlocked(database, 1)
      const answer = reasonOf(call(db, own))
      await waitUntilBlocked(database, 2)
      await gate.release()
      expect(await swept).toMatchObject(maxAttempts === 1 ? { failed: 1 } : { released: 1 })
      expect(await answer).toBe(maxAttempts === 1 ? 'failed' : 'accepted')
      await sql('DROP TRIGGER wait_here ON dispatch_queue')
      const { queue, history } = await allRows(sql, own.queueId)
      expect(queue.length + history.length).toBe(1)
      if (maxAttempts === 1) expect(history).toMatchObject([{ outcome: 'failed', attempt_log: [{ how: 'expired' }] }])
      else if (name === 'complete') expect(history).toMatchObject([{ outcome: 'completed', attempts: 1 }])
      else expect(queue).toMatchObject([{ attempts: 1 }])
    },
  )
})

test('a row that expires as complete and sweep come at once has exactly one effect, two hundred times', async () => {
  for (let round = 0; round < 200; round += 1) {
    const own = await insertClaimed(sql, { attempts: 1, maxAttempts: 1, claimExpiresAt: ago('1 second') })
    const [answer, swept] = await Promise.all([reasonOf(holderCalls.complete(db, own)), sweep()])
    const { queue, history } = await allRows(sql, own.queueId)
    expect(queue).toStrictEqual([])
    expect(history).toMatchObject([{ outcome: answer === 'accepted' ? 'completed' : 'failed' }])
    expect(swept.failed).toBe(answer === 'accepted' ? 0 : 1)
  }
})

test('any number of sweeps at once free each claim once', async () => {
  const orchestratorId = await insertMany(sql, 300)
  await claimNextOf(db, orchestratorId, { limit: 300 })
  await expireAll(sql, orchestratorId)
  const counts = await Promise.all(Array.from({ length: 8 }, () => sweepStale(db, { batch: 100 })))
  const rest = await sweep()
  expect(counts.reduce((sum, { released }) => sum + released, rest.released)).toBe(300)
  const logs = await sql(
    'SELECT DISTINCT jsonb_array_length(attempt_log) AS length FROM dispatch_queue WHERE orchestrator_id = $1',
    [orchestratorId],
  )
  expect(logs).toStrictEqual([{ length: 1 }])
})
