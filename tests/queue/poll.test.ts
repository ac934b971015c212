import { describe, expect, test } from 'vitest'
import { type PollInput, poll } from '@/lib/queue/poll'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import {
  ago,
  ahead,
  allRows,
  expireClaim,
  insertClaimed,
  insertFinished,
  insertWork,
  newOrchestratorId,
  onlyRow,
} from '../support/factories'
import { holdRow, waitUntilBlocked } from '../support/gate'
import { recordStatements } from '../support/statements'
import { mustClaim } from './holders'
import { claimNextOf, insertMany } from './rows'

const database = await setUpDatabase()
const { db, sql } = database
const pollOf = (orchestratorId: string, more: Partial<PollInput> = {}) =>
  poll(db, { orchestratorId, limit: 20, maxBytes: 1_000_000, ...more })

describe('what is queued', () => {
  test('is listed in claim order: best priority first, then longest due, then oldest', async () => {
    const orchestratorId = newOrchestratorId()
    const late = await insertWork(sql, { orchestratorId, priority: 1, availableAt: ago('1 minute') })
    const early = await insertWork(sql, { orchestratorId, priority: 1, availableAt: ago('1 hour') })
    const best = await insertWork(sql, { orchestratorId, priority: -1000 })
    const { queued } = await pollOf(orchestratorId)
    expect(queued.map(({ queueId }) => queueId)).toStrictEqual([best, early, late].map(({ queueId }) => queueId))
    expect((await pollOf(orchestratorId, { limit: 1 })).queued).toMatchObject([
      { queueId: best.queueId, priority: -1000 },
    ])
  })

  test('is nothing that is scheduled, claimed, stale, finished or another orchestrator’s', async () => {
    const orchestratorId = newOrchestratorId()
    await insertWork(sql, { orchestratorId, availableAt: ahead('1 hour') })
    await insertClaimed(sql, { orchestratorId })
    await insertClaimed(sql, { orchestratorId, claimExpiresAt: ago('1 second') })
    await insertFinished(sql, { orchestratorId, outcome: 'failed' })
    await insertWork(sql)
    await insertClaimed(sql, { claimExpiresAt: ago('1 second') })
    expect((await pollOf(orchestratorId, { machineId: 'laptop' })).queued).toStrictEqual([])
  })

  test('is turned for each machine among equals, always the same way, so that machines rarely race', async () => {
    const orchestratorId = await insertMany(sql, 30, { priority: 'n % 2' })
    const orderFor = async (machineId?: string) =>
      (await pollOf(orchestratorId, { machineId, limit: 20 })).queued.map(({ queueId }) => queueId)
    const plain = await orderFor()
    const machines = await Promise.all(Array.from({ length: 10 }, (_, n) => orderFor(`machine-${n}`)))
    for (const order of machines) expect(order.toSorted((a, b) => a - b)).toStrictEqual(plain.toSorted((a, b) => a - b))
    expect(new Set(machines.map(([first]) => first)).size).toBeGreaterThan(3)
    expect(await orderFor('machine-3')).toStrictEqual(machines[3])
    const { queued } = await pollOf(orchestratorId, { machineId: 'laptop' })
    expect(queued.map(({ priority }) => priority)).toStrictEqual([...Array(15).fill(0), ...Array(5).fill(1)])
  })
})

describe('what a machine holds', () => {
  test('is listed with payload and token, and no other machine’s claims are', async () => {
    const orchestratorId = newOrchestratorId()
    const own = await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop', payload: { issue: 'ENG-1' } })
    const stale = await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop', claimExpiresAt: ago('1 second') })
    await insertClaimed(sql, { orchestratorId, claimedBy: 'desktop' })
    await insertClaimed(sql, { claimedBy: 'laptop' })
    const { held } = await pollOf(orchestratorId, { machineId: 'laptop' })
    expect(held).toMatchObject([
      { queueId: own.queueId, claimToken: own.claimToken, payload: { text: '{"issue": "ENG-1"}' }, leaseMs: 60_000 },
      { queueId: stale.queueId, claimToken: stale.claimToken },
    ])
    expect((await pollOf(orchestratorId)).held).toStrictEqual([])
  })

  test('leaves out what the same call names as being worked on, lost or not', async () => {
    const orchestratorId = newOrchestratorId()
    const [one, two] = [
      await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop' }),
      await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop' }),
    ]
    const holding = [{ queueId: one.queueId, claimToken: one.claimToken }]
    const { held } = await pollOf(orchestratorId, { machineId: 'laptop', holding })
    expect(held.map(({ queueId }) => queueId)).toStrictEqual([two.queueId])
  })

  test('ends early where the payloads grow too large, but never before the first', async () => {
    const orchestratorId = newOrchestratorId()
    for (let n = 0; n < 3; n += 1) {
      await insertClaimed(sql, {
        orchestratorId,
        claimedBy: 'laptop',
        payload: 'x'.repeat(998),
        claimedAt: ago(`${9 - n} seconds`),
      })
    }
    const sizes: number[] = []
    for (const maxBytes of [10, 1_001, 9_000])
      sizes.push((await pollOf(orchestratorId, { machineId: 'laptop', maxBytes })).held.length)
    expect(sizes).toStrictEqual([1, 2, 3])
  })
})

describe('what a machine names as being worked on', () => {
  test('is renewed by each claim’s own lease, with its progress', async () => {
    const orchestratorId = newOrchestratorId()
    const short = await insertClaimed(sql, { orchestratorId, leaseMs: 5_000, claimExpiresAt: ahead('1 second') })
    const long = await insertClaimed(sql, { orchestratorId, leaseMs: 90_000, progress: 5 })
    const { renewed } = await pollOf(orchestratorId, {
      holding: [
        { queueId: short.queueId, claimToken: short.claimToken, progress: 40, note: 'half\0\ud800' },
        { queueId: long.queueId, claimToken: long.claimToken },
      ],
    })
    expect(renewed).toMatchObject([
      { queueId: short.queueId, leaseMs: 5_000 },
      { queueId: long.queueId, leaseMs: 90_000 },
    ])
    expect(await onlyRow(sql, short.queueId)).toMatchObject({ progress: 40, progress_note: 'half\ufffd\ufffd' })
    expect(await onlyRow(sql, long.queueId)).toMatchObject({ progress: 5 })
    const leases = await sql(
      `SELECT round(extract(epoch FROM claim_expires_at - now()))::int / 5 AS fives FROM dispatch_queue WHERE id = ANY ($1) ORDER BY id`,
      [[short.queueId, long.queueId]],
    )
    expect(leases).toStrictEqual([{ fives: 1 }, { fives: 18 }])
  })

  test('is revived after a sweep, unless another machine took it', async () => {
    const [kept, taken] = [
      await mustClaim(db, await insertWork(sql), { machineId: 'laptop' }),
      await mustClaim(db, await insertWork(sql), { machineId: 'laptop' }),
    ]
    for (const { queueId } of [kept, taken]) await expireClaim(sql, queueId)
    await sweepStale(db, { batch: 1_000 })
    await mustClaim(db, taken, { machineId: 'desktop' })
    const before = await allRows(sql, taken.queueId)
    const holding = ({ queueId, claimToken }: typeof kept) => [{ queueId, claimToken }]
    expect(await pollOf(kept.orchestratorId, { holding: holding(kept) })).toMatchObject({
      renewed: [{ queueId: kept.queueId }],
      lost: [],
    })
    expect(await pollOf(taken.orchestratorId, { holding: holding(taken) })).toMatchObject({
      renewed: [],
      lost: [{ queueId: taken.queueId, reason: 'reclaimed' }],
    })
    expect(await allRows(sql, taken.queueId)).toStrictEqual(before)
  })

  test('is renewed by two overlapping polls in opposite orders without a deadlock', async () => {
    const orchestratorId = await insertMany(sql, 40)
    const holding = (await claimNextOf(db, orchestratorId, { limit: 40 })).map(({ queueId, claimToken }) => ({
      queueId,
      claimToken,
    }))
    for (let round = 0; round < 50; round += 1) {
      const answers = await Promise.all([
        pollOf(orchestratorId, { holding }),
        pollOf(orchestratorId, { holding: holding.toReversed() }),
      ])
      expect(answers.map(({ renewed }) => renewed.length)).toStrictEqual([40, 40])
    }
  })

  test('is waited for while another call of the machine has it, and never reported lost for that', async () => {
    const own = await insertClaimed(sql)
    const gate = await holdRow(database, own.queueId)
    const answer = pollOf(own.orchestratorId, { holding: [{ queueId: own.queueId, claimToken: own.claimToken }] })
    await waitUntilBlocked(database, 1)
    await gate.run('UPDATE dispatch_queue SET progress = 50 WHERE id = $1', [own.queueId])
    await gate.release()
    expect(await answer).toMatchObject({ renewed: [{ queueId: own.queueId }], lost: [] })
  })
})

test('a poll that names no claims writes nothing, and neither form looks into payloads of what is queued', async () => {
  const { orchestratorId, queueId } = await insertWork(sql)
  const before = await sql('SELECT xmin::text, xmax::text FROM dispatch_queue WHERE id = $1', [queueId])
  const { statements } = await recordStatements(database, () => pollOf(orchestratorId, { machineId: 'laptop' }))
  expect(statements).toHaveLength(1)
  expect(statements.join()).not.toMatch(/\b(UPDATE|INSERT|DELETE)\b/i)
  expect(await sql('SELECT xmin::text, xmax::text FROM dispatch_queue WHERE id = $1', [queueId])).toStrictEqual(before)
})

test('a transaction that has a row locked and goes silent holds up no poll', async () => {
  const { orchestratorId, queueId } = await insertWork(sql)
  const gate = await holdRow(database, queueId)
  await gate.run('UPDATE dispatch_queue SET priority = 1 WHERE id = $1', [queueId])
  expect((await pollOf(orchestratorId)).queued).toMatchObject([{ queueId, priority: 0 }])
})
