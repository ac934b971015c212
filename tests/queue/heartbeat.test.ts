import { describe, expect, test } from 'vitest'
import { heartbeat } from '@/lib/queue/heartbeat'
import { setUpDatabase } from '../support/db'
import { insertClaimed, insertWork, onlyRow } from '../support/factories'
import { holdRow, waitUntilBlocked } from '../support/gate'
import { setUpLevels } from './claims'
import { holderCalls, mustClaim, reasonOf } from './holders'

const { db, sql } = await setUpDatabase()

const now = async () => (await sql<{ at: string }>('SELECT clock_timestamp()::text AS at'))[0]?.at

/** Whether a claim's lease, by its own length, began no earlier than at an instant. */
async function runsSince(queueId: number, instant: string | undefined): Promise<boolean> {
  const [row] = await sql<{ runs: boolean }>(
    `SELECT claim_expires_at - lease_ms * interval '1 millisecond' BETWEEN $2::timestamptz AND now() AS runs
       FROM dispatch_queue WHERE id = $1`,
    [queueId, instant],
  )
  return row?.runs === true
}

describe('a heartbeat', () => {
  test('renews the lease from now and notes the progress, and changes nothing else', async () => {
    const own = await insertClaimed(sql, { leaseMs: 90_000, progress: 10, progressNote: 'reading' })
    const [before, since] = [await onlyRow(sql, own.queueId), await now()]
    const { claimExpiresAt, leaseMs } = await heartbeat(db, { ...own, progress: 40, note: 'running tests' })
    const { claim_expires_at: expiry, ...after } = await onlyRow(sql, own.queueId)
    expect({ ...after, claim_expires_at: before.claim_expires_at }).toStrictEqual({
      ...before,
      progress: 40,
      progress_note: 'running tests',
    })
    expect(await runsSince(own.queueId, since)).toBe(true)
    expect({ leaseMs, at: Date.parse(claimExpiresAt) }).toStrictEqual({
      leaseMs: 90_000,
      at: Date.parse(String(expiry)),
    })
  })

  test('without a word of progress keeps the last one; a zero is a word', async () => {
    const own = await insertClaimed(sql, { progress: 10, progressNote: 'reading' })
    await heartbeat(db, own)
    expect(await onlyRow(sql, own.queueId)).toMatchObject({ progress: 10, progress_note: 'reading' })
    await heartbeat(db, { ...own, progress: 0, note: '' })
    expect(await onlyRow(sql, own.queueId)).toMatchObject({ progress: 0, progress_note: '' })
  })

  test('may bring a lease of its own, shorter or longer, which later ones keep', async () => {
    const own = await insertClaimed(sql, { leaseMs: 3_600_000, claimTimeoutMs: 3_600_000 })
    for (const leaseMs of [5_000, 86_400_000]) {
      for (const call of [{ ...own, leaseMs }, own]) {
        const since = await now()
        expect((await heartbeat(db, call)).leaseMs).toBe(leaseMs)
        expect(await onlyRow(sql, own.queueId)).toMatchObject({ lease_ms: leaseMs })
        expect(await runsSince(own.queueId, since)).toBe(true)
      }
    }
  })

  test('never fails for its note: it is mended and cut, without splitting a pair', async () => {
    const own = await insertClaimed(sql)
    await heartbeat(db, { ...own, note: `\0\ud800${'x'.repeat(997)}😀` })
    expect(await onlyRow(sql, own.queueId)).toMatchObject({ progress_note: `\ufffd\ufffd${'x'.repeat(997)}` })
  })

  test('that revives a swept claim has its attempt begin anew, and uses up none', async () => {
    const own = await insertClaimed(sql, { claimedAt: null, claimExpiresAt: null, leaseMs: 20_000 })
    const { leaseMs } = await heartbeat(db, own)
    expect(leaseMs).toBe(20_000)
    const rows = await sql(
      `SELECT attempts, claimed_by, claim_expires_at - claimed_at = interval '20 seconds' AS anew
         FROM dispatch_queue WHERE id = $1`,
      [own.queueId],
    )
    expect(rows).toStrictEqual([{ attempts: 1, claimed_by: own.machineId, anew: true }])
  })
})

describe.each(await setUpLevels())('at $level', ({ at }) => {
  test('two heartbeats of one holder at one instant both renew', async () => {
    const own = await mustClaim(at.db, await insertWork(at.sql))
    const gate = await holdRow(at, own.queueId)
    const both = [reasonOf(holderCalls.heartbeat(at.db, own)), reasonOf(holderCalls.heartbeat(at.db, own))]
    await waitUntilBlocked(at, 2)
    await gate.release()
    expect(await Promise.all(both)).toStrictEqual(['accepted', 'accepted'])
  })
})
