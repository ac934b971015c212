import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { poll } from '@/lib/queue/poll'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import {
  ahead,
  allRows,
  expireClaim,
  insertClaimed,
  insertFinished,
  insertWork,
  newOrchestratorId,
  onlyRow,
} from '../support/factories'
import { claimRow, DEFAULT_LEASE_MS, holderCalls, mustClaim, reasonOf } from './holders'

const { db, sql } = await setUpDatabase()

describe('a claim of free work', () => {
  test('hands out the payload and makes the machine its holder, for a lease from now', async () => {
    const work = await insertWork(sql, {
      payload: { issue: 'ENG-142' },
      progress: 80,
      progressNote: 'of an earlier try',
    })
    const claimed = await mustClaim(db, work, { machineId: 'laptop' })
    expect(claimed.payload.text).toBe('{"issue": "ENG-142"}')
    expect(claimed).toMatchObject({ queueId: work.queueId, attempts: 1, leaseMs: DEFAULT_LEASE_MS })
    expect(Date.parse(claimed.claimExpiresAt) - Date.parse(claimed.claimedAt)).toBe(DEFAULT_LEASE_MS)
    expect(await onlyRow(sql, work.queueId)).toMatchObject({
      claimed_by: 'laptop',
      claim_token: claimed.claimToken,
      attempts: 1,
      lease_ms: DEFAULT_LEASE_MS,
      progress: null,
      progress_note: null,
    })
  })

  test.each([
    ['the request', { leaseMs: 5_000 }, 5_000],
    ['else the row', {}, 7_000],
  ])('takes its lease from %s', async (_from, more, leaseMs) => {
    const work = await insertWork(sql, { claimTimeoutMs: 7_000 })
    expect(await claimRow(db, work, more)).toMatchObject({ leaseMs })
  })

  test('hands out a JSON null, and numbers by their very digits', async () => {
    const empty = await insertWork(sql, { payload: null })
    expect((await mustClaim(db, empty)).payload.text).toBe('null')
    const [row] = await sql<{ id: number; orchestrator_id: string }>(
      `INSERT INTO dispatch_queue (orchestrator_id, payload) VALUES ('digits', '{"n": 9007199254740993.10}') RETURNING id, orchestrator_id`,
    )
    const exact = await claimRow(db, { queueId: row?.id ?? 0, orchestratorId: 'digits' })
    expect(exact?.payload.text).toBe('{"n": 9007199254740993.10}')
  })

  test('is possible for what a producer put in with two columns', async () => {
    const [row] = await sql<{ id: number }>(
      `INSERT INTO dispatch_queue (orchestrator_id, payload) VALUES ('plain', '1') RETURNING id`,
    )
    expect(await claimRow(db, { queueId: row?.id ?? 0, orchestratorId: 'plain' })).toMatchObject({ attempts: 1 })
  })
})

test('a claim typed into psql without a token and an expiry is refused, as it would never end', async () => {
  const { queueId } = await insertWork(sql)
  const update = sql('UPDATE dispatch_queue SET claimed_at = now() WHERE id = $1', [queueId])
  await expect(update).rejects.toMatchObject({ constraint: 'dispatch_queue_claim_is_whole' })
})

test.each([
  ['unknown', async () => ({ queueId: 9_007_199_254_740_991, orchestratorId: newOrchestratorId() })],
  ['of another orchestrator', async () => ({ ...(await insertWork(sql)), orchestratorId: newOrchestratorId() })],
  ['finished', () => insertFinished(sql)],
  ['cancelled', () => insertFinished(sql, { outcome: 'cancelled' })],
  ['not yet due', () => insertWork(sql, { availableAt: ahead('1 hour') })],
  ['claimed', () => insertClaimed(sql)],
  ['stale, but not yet swept', () => insertClaimed(sql, { claimExpiresAt: ahead('-1 second') })],
])('a claim of work that is %s gives null and changes nothing', async (_state, insert) => {
  const work = await insert()
  const before = await allRows(sql, work.queueId)
  expect(await claimRow(db, work, { machineId: 'laptop', claimToken: randomUUID() })).toBeNull()
  expect(await allRows(sql, work.queueId)).toStrictEqual(before)
})

describe('the same claim sent again, with its own token', () => {
  const machine = () => ({ machineId: 'laptop', claimToken: randomUUID(), leaseMs: 30_000 })

  test('gives the same answer, and counts one attempt', async () => {
    const [work, call] = [await insertWork(sql), machine()]
    const first = await mustClaim(db, work, call)
    expect(await mustClaim(db, work, call)).toStrictEqual(first)
    expect(first.claimToken).toBe(call.claimToken)
  })

  test('gives null to whoever brings another token, or the same one from another machine', async () => {
    const [work, call] = [await insertWork(sql), machine()]
    await mustClaim(db, work, call)
    const before = await allRows(sql, work.queueId)
    expect(await claimRow(db, work, { ...call, claimToken: randomUUID() })).toBeNull()
    expect(await claimRow(db, work, { ...call, machineId: 'desktop' })).toBeNull()
    expect(await claimRow(db, work, { claimToken: call.claimToken })).toBeNull()
    expect(await allRows(sql, work.queueId)).toStrictEqual(before)
  })

  test.each(['lapsed', 'swept'])(
    'revives a claim that is %s and that nobody took, without another attempt',
    async (how) => {
      const [work, call] = [await insertWork(sql), machine()]
      await mustClaim(db, work, call)
      await expireClaim(sql, work.queueId)
      if (how === 'swept') await sweepStale(db, { batch: 1_000 })
      expect(await claimRow(db, work, call)).toMatchObject({
        claimToken: call.claimToken,
        attempts: 1,
        leaseMs: 30_000,
      })
      const [row] = await sql('SELECT claim_expires_at > now() AS runs FROM dispatch_queue WHERE id = $1', [
        work.queueId,
      ])
      expect(row).toStrictEqual({ runs: true })
    },
  )

  test('gives null once another machine has taken the work', async () => {
    const [work, call] = [await insertWork(sql), machine()]
    await mustClaim(db, work, call)
    await expireClaim(sql, work.queueId)
    await sweepStale(db, { batch: 1_000 })
    await mustClaim(db, work, { machineId: 'desktop' })
    const before = await allRows(sql, work.queueId)
    expect(await claimRow(db, work, call)).toBeNull()
    expect(await allRows(sql, work.queueId)).toStrictEqual(before)
  })
})

describe('a machine that comes back', () => {
  test('finds its claim under held, and takes it over without another attempt', async () => {
    const work = await insertWork(sql)
    const lost = await mustClaim(db, work, { machineId: 'laptop', leaseMs: 20_000 })
    const { held } = await poll(db, { ...work, machineId: 'laptop', limit: 20, maxBytes: 1_000 })
    const previousToken = held[0]?.claimToken
    const resumed = await mustClaim(db, work, { machineId: 'laptop', previousToken, leaseMs: 40_000 })
    expect(resumed).toMatchObject({ attempts: 1, leaseMs: 40_000, claimedAt: lost.claimedAt })
    expect(resumed.claimToken).not.toBe(lost.claimToken)
  })

  test.each(Object.entries(holderCalls))(
    'overtakes the other process of its name: that one’s %s is refused as reclaimed, and the new lease is untouched',
    async (_call, call) => {
      const work = await insertWork(sql)
      const overtaken = await mustClaim(db, work, { machineId: 'laptop' })
      const own = await mustClaim(db, work, { machineId: 'laptop', previousToken: overtaken.claimToken })
      const before = await allRows(sql, work.queueId)
      expect(await reasonOf(call(db, overtaken))).toBe('reclaimed')
      expect(await allRows(sql, work.queueId)).toStrictEqual(before)
      expect(await reasonOf(call(db, own))).toBe('accepted')
    },
  )

  test('gets the same answer when it sends its take-over again', async () => {
    const { claimToken: previousToken, machineId, ...work } = await insertClaimed(sql)
    const call = { machineId, claimToken: randomUUID(), previousToken, leaseMs: 40_000 }
    const first = await mustClaim(db, work, call)
    expect(await mustClaim(db, work, call)).toStrictEqual(first)
    expect(first).toMatchObject({ claimToken: call.claimToken, attempts: 1, leaseMs: 40_000 })
  })

  test.each(['lapsed', 'swept'])('takes over its claim that is %s, without another attempt', async (how) => {
    const work = await insertWork(sql)
    const { claimToken: previousToken } = await mustClaim(db, work, { machineId: 'laptop' })
    await expireClaim(sql, work.queueId)
    if (how === 'swept') await sweepStale(db, { batch: 1_000 })
    expect(await claimRow(db, work, { machineId: 'laptop', previousToken })).toMatchObject({ attempts: 1 })
    expect(await sweepStale(db, { batch: 1_000 })).toMatchObject({ released: 0 })
  })

  test('finds its progress as it was, which another machine’s claim would clear', async () => {
    const own = await insertClaimed(sql, { progress: 70, progressNote: 'running tests' })
    const [call, claimToken] = [{ machineId: own.machineId }, randomUUID()]
    await mustClaim(db, own, { ...call, claimToken: own.claimToken })
    await mustClaim(db, own, { ...call, claimToken, previousToken: own.claimToken })
    expect(await onlyRow(sql, own.queueId)).toMatchObject({ progress: 70, progress_note: 'running tests' })
    await expireClaim(sql, own.queueId)
    await sweepStale(db, { batch: 1_000 })
    expect(await mustClaim(db, own, { machineId: 'desktop' })).toMatchObject({ attempts: 2 })
    expect(await onlyRow(sql, own.queueId)).toMatchObject({ progress: null, progress_note: null })
  })

  test('cannot take over what another machine holds, or what was given up', async () => {
    const { claimToken, ...work } = await insertClaimed(sql, { claimedBy: 'desktop' })
    expect(await claimRow(db, work, { machineId: 'laptop', previousToken: claimToken })).toBeNull()
    const released = await mustClaim(db, await insertWork(sql), { machineId: 'laptop' })
    await holderCalls.release(db, released)
    const fresh = await claimRow(db, released, { machineId: 'laptop', previousToken: released.claimToken })
    expect(fresh).toMatchObject({ attempts: 1 })
  })
})
