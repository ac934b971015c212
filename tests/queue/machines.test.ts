import { describe, expect, test } from 'vitest'
import { askForWaiters } from '@/lib/queue/ask-for-waiters'
import { noteMachines } from '@/lib/queue/note-machines'
import { setUpDatabase } from '../support/db'
import { ahead, insertClaimed, insertFinished, insertWork, newOrchestratorId } from '../support/factories'
import { recordStatements } from '../support/statements'

const database = await setUpDatabase()
const { db, sql } = database
const machine = (machineId: string, version: string | null = null, orchestratorId = 'acme') => ({
  orchestratorId,
  machineId,
  version,
})
const seenAt = async (machineId: string) =>
  (await sql('SELECT first_seen_at, last_seen_at, version FROM machines WHERE machine_id = $1', [machineId]))[0]

describe('machines that were seen', () => {
  test('are noted in one statement, however many, with the version that they named last', async () => {
    const seen = Array.from({ length: 500 }, (_, n) => machine(`fleet-${n}`, n % 2 ? '1.0.0' : null))
    const { statements } = await recordStatements(database, () => noteMachines(db, seen))
    expect(statements).toHaveLength(1)
    await noteMachines(db, [machine('fleet-0', '2.0.0'), machine('fleet-1')])
    expect(await seenAt('fleet-0')).toMatchObject({ version: '2.0.0' })
    expect(await seenAt('fleet-1')).toMatchObject({ version: '1.0.0' })
    expect(await sql(`SELECT count(*)::int AS n FROM machines WHERE machine_id LIKE 'fleet-%'`)).toStrictEqual([
      { n: 500 },
    ])
  })

  test('are written at most every 30 s, and keep when they were first seen', async () => {
    await noteMachines(db, [machine('laptop', '1.0.0')])
    const first = await seenAt('laptop')
    await noteMachines(db, [machine('laptop', '1.0.0')])
    expect(await seenAt('laptop')).toStrictEqual(first)
    await sql(`UPDATE machines SET last_seen_at = now() - interval '31 seconds' WHERE machine_id = 'laptop'`)
    await noteMachines(db, [machine('laptop')])
    const later = await seenAt('laptop')
    expect(later?.first_seen_at).toBe(first?.first_seen_at)
    expect(Date.parse(String(later?.last_seen_at))).toBeGreaterThanOrEqual(Date.parse(String(first?.last_seen_at)))
  })

  test('noted by instances at once, in opposite orders, never deadlock', async () => {
    const seen = Array.from({ length: 100 }, (_, n) => machine(`both-${n}`))
    for (let round = 0; round < 10; round += 1) {
      await sql(`UPDATE machines SET last_seen_at = now() - interval '31 seconds' WHERE machine_id LIKE 'both-%'`)
      await Promise.all([noteMachines(db, seen), noteMachines(db, seen.toReversed())])
    }
  })
})

test('one question for all who wait: where there is work, how much up to their number, and which of the machines hold claims', async () => {
  const [busy, empty, other] = [newOrchestratorId(), newOrchestratorId(), newOrchestratorId()]
  for (let n = 0; n < 5; n += 1) await insertWork(sql, { orchestratorId: busy })
  await insertWork(sql, { orchestratorId: empty, availableAt: ahead('1 hour') })
  await insertFinished(sql, { orchestratorId: empty })
  await insertClaimed(sql, { orchestratorId: empty, claimedBy: 'laptop' })
  await insertWork(sql, { orchestratorId: other })
  const question = {
    orchestrators: [
      { orchestratorId: busy, waiters: 3 },
      { orchestratorId: empty, waiters: 9 },
    ],
    machines: [
      { orchestratorId: empty, machineId: 'laptop' },
      { orchestratorId: empty, machineId: 'desktop' },
      { orchestratorId: busy, machineId: 'laptop' },
    ],
  }
  const { result, statements } = await recordStatements(database, () => askForWaiters(db, question))
  expect(statements).toHaveLength(1)
  expect([...result.claimable]).toStrictEqual([[busy, 3]])
  expect(result.holding).toStrictEqual([{ orchestratorId: empty, machineId: 'laptop' }])
})
