import { describe, expect, test } from 'vitest'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import { expireClaim, insertClaimed, insertWork, onlyRow } from '../support/factories'
import { holdRow, waitUntilBlocked } from '../support/gate'
import { setUpLevels } from './claims'
import { holderCalls, mustClaim, reasonOf } from './holders'
import { claimNextOf } from './rows'

const { db, sql } = await setUpDatabase()

describe('released work', () => {
  test('is free at once, with its attempt back and the release in its log; all else is as it was', async () => {
    const own = await insertClaimed(sql, { attempts: 2, priority: 3, progress: 50, lastError: 'of an earlier try' })
    const before = await onlyRow(sql, own.queueId)
    await holderCalls.release(db, own)
    const { attempt_log: log, ...after } = await onlyRow(sql, own.queueId)
    expect({ ...after, attempt_log: [] }).toStrictEqual({
      ...before,
      claimed_at: null,
      claim_token: null,
      claim_expires_at: null,
      lease_ms: null,
      attempts: 1,
    })
    expect(log).toMatchObject([{ attempt: 2, machine: own.machineId, how: 'released', error: null }])
  })

  test('has its old place: the next machine gets it before what came later', async () => {
    const { orchestratorId, queueId } = await insertWork(sql)
    await insertWork(sql, { orchestratorId })
    for (let n = 0; n < 3; n += 1) {
      const [own] = await claimNextOf(db, orchestratorId)
      expect(own?.queueId).toBe(queueId)
      if (own) await holderCalls.release(db, own)
    }
  })

  test('is claimable however often it is released, even where one attempt is allowed', async () => {
    const work = await insertWork(sql, { maxAttempts: 1 })
    for (let n = 0; n < 5; n += 1) {
      const own = await mustClaim(db, work)
      expect(own.attempts).toBe(1)
      await holderCalls.release(db, own)
    }
  })

  test('never has fewer attempts than none', async () => {
    const own = await insertClaimed(sql, { attempts: 0 })
    await holderCalls.release(db, own)
    expect(await onlyRow(sql, own.queueId)).toMatchObject({ attempts: 0, claimed_at: null })
  })

  test('after a sweep has the attempt counted that the sweep ended, and can no longer be revived', async () => {
    const own = await mustClaim(db, await insertWork(sql))
    await expireClaim(sql, own.queueId)
    await sweepStale(db, { batch: 1_000 })
    await holderCalls.release(db, own)
    expect(await onlyRow(sql, own.queueId)).toMatchObject({
      attempts: 1,
      claim_token: null,
      lease_ms: null,
      attempt_log: [{ how: 'expired' }],
    })
    expect(await reasonOf(holderCalls.heartbeat(db, own))).toBe('released')
  })
})

describe.each(await setUpLevels())('at $level', ({ at }) => {
  test('of two identical releases at one instant one is done and the other told so: one attempt comes back', async () => {
    const own = await insertClaimed(at.sql, { attempts: 2 })
    const gate = await holdRow(at, own.queueId)
    const both = [reasonOf(holderCalls.release(at.db, own)), reasonOf(holderCalls.release(at.db, own))]
    await waitUntilBlocked(at, 2)
    await gate.release()
    expect((await Promise.all(both)).sort()).toStrictEqual(['accepted', 'released'])
    expect(await onlyRow(at.sql, own.queueId)).toMatchObject({ attempts: 1, attempt_log: [{ how: 'released' }] })
  })
})
