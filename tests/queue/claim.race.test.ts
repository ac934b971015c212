import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { isConflict } from '@/lib/db/errors'
import { cancel } from '@/lib/queue/cancel'
import { setUpDatabase, testDriver } from '../support/db'
import { insertClaimed, insertWork, newOrchestratorId, onlyRow } from '../support/factories'
import { hold, holdRow, waitUntilBlocked } from '../support/gate'
import { claimRow, holderCalls, refusalOf } from './holders'
import { claimNextOf } from './rows'

const database = await setUpDatabase()
const { db, sql } = database
const byIsolation = [
  { level: 'read committed', at: database },
  {
    level: 'repeatable read',
    at: await setUpDatabase({ settings: { default_transaction_isolation: 'repeatable read' } }),
  },
  { level: 'serializable', at: await setUpDatabase({ settings: { default_transaction_isolation: 'serializable' } }) },
]

const rivals = (count: number) => Array.from({ length: count }, (_, n) => `machine-${n}`)

describe.each(byIsolation)('at $level', ({ at }) => {
  test.each([5, 50])('of %i that claim one row at once, one gets the payload and the others null', async (count) => {
    const work = await insertWork(at.sql)
    const claims = await Promise.all(rivals(count).map((machineId) => claimRow(at.db, work, { machineId })))
    expect(claims.filter((claim) => claim !== null)).toHaveLength(1)
    expect(await onlyRow(at.sql, work.queueId)).toMatchObject({ attempts: 1 })
  })

  test('of twenty that wait for the row’s lock, one gets it once the lock is free', async () => {
    const work = await insertWork(at.sql)
    const gate = await holdRow(at, work.queueId)
    const claims = rivals(20).map((machineId) => claimRow(at.db, work, { machineId }))
    await waitUntilBlocked(at, 20)
    await gate.release()
    expect((await Promise.all(claims)).filter((claim) => claim !== null)).toHaveLength(1)
    expect(await onlyRow(at.sql, work.queueId)).toMatchObject({ attempts: 1 })
  })

  test('the same claim sent twice at once is one claim, for both', async () => {
    const work = await insertWork(at.sql)
    const call = { machineId: 'laptop', claimToken: randomUUID() }
    const gate = await holdRow(at, work.queueId)
    const both = [claimRow(at.db, work, call), claimRow(at.db, work, call)]
    await waitUntilBlocked(at, 2)
    await gate.release()
    const [one, other] = await Promise.all(both)
    expect(one).toMatchObject({ claimToken: call.claimToken, attempts: 1 })
    expect(other).toStrictEqual(one)
  })

  test('of two processes of one name that take over the same claim at once, one gets it', async () => {
    const { claimToken: previousToken, machineId, ...work } = await insertClaimed(at.sql)
    const gate = await holdRow(at, work.queueId)
    const both = [1, 2].map(() => claimRow(at.db, work, { machineId, previousToken }))
    await waitUntilBlocked(at, 2)
    await gate.release()
    const won = (await Promise.all(both)).filter((claim) => claim !== null)
    expect(won).toMatchObject([{ attempts: 1 }])
    expect(await onlyRow(at.sql, work.queueId)).toMatchObject({ claim_token: won[0]?.claimToken })
  })
})

test('of two hundred that claim one row at once, one gets the payload and the others null', async () => {
  if (testDriver === 'pg') await database.warm(200)
  const work = await insertWork(sql)
  const claims = await Promise.all(rivals(200).map((machineId) => claimRow(db, work, { machineId })))
  expect(claims.filter((claim) => claim !== null)).toHaveLength(1)
  expect(await onlyRow(sql, work.queueId)).toMatchObject({ attempts: 1 })
})

test('when the first holder’s transaction is rolled back, the one that waited wins', async () => {
  const work = await insertWork(sql)
  const first = await hold(
    database,
    `UPDATE dispatch_queue SET claimed_at = now(), claim_token = gen_random_uuid(), lease_ms = 60000,
            claim_expires_at = now() + interval '1 minute' WHERE id = $1`,
    [work.queueId],
  )
  const second = claimRow(db, work, { machineId: 'desktop' })
  await waitUntilBlocked(database, 1)
  await first.release('rollback')
  expect(await second).toMatchObject({ attempts: 1 })
})

test('a claim and a person’s cancel at one instant: the claim is null, or its holder learns of the cancel', async () => {
  for (let round = 0; round < 20; round += 1) {
    const work = await insertWork(sql, { orchestratorId: newOrchestratorId() })
    const gate = await holdRow(database, work.queueId)
    const both = [claimRow(db, work, { machineId: 'laptop' }), refusalOf(cancel(db, work.queueId))] as const
    await waitUntilBlocked(database, 2)
    await gate.release()
    const [claimed, refused] = await Promise.all(both)
    const row = await onlyRow(sql, work.queueId)
    expect(refused).toBeUndefined()
    expect(row).toMatchObject({ outcome: 'cancelled', attempts: claimed === null ? 0 : 1 })
  }
})

test.each(['serialization_failure', 'deadlock_detected'])(
  'a claim that Postgres ends again and again with a %s has lost its race: that is an answer, no error',
  async (condition) => {
    const work = await insertWork(sql)
    const own = await insertClaimed(sql, { orchestratorId: work.orchestratorId })
    await sql(`CREATE OR REPLACE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE ${condition}; END $$`)
    await sql(`CREATE OR REPLACE TRIGGER conflict BEFORE UPDATE ON dispatch_queue FOR EACH ROW
      WHEN (OLD.orchestrator_id = '${work.orchestratorId}') EXECUTE FUNCTION conflict()`)
    expect(await claimRow(db, work)).toBeNull()
    expect(await claimNextOf(db, work.orchestratorId)).toStrictEqual([])
    expect(await claimNextOf(db, work.orchestratorId, { limit: 5 })).toStrictEqual([])
    expect(await holderCalls.heartbeat(db, own).catch(isConflict)).toBe(true)
    await sql('DROP TRIGGER conflict ON dispatch_queue')
    expect(await claimRow(db, work)).toMatchObject({ attempts: 1 })
  },
)
