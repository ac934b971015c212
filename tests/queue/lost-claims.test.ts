import { describe, expect, test } from 'vitest'
import { cancel } from '@/lib/queue/cancel'
import { completeBatch } from '@/lib/queue/complete-batch'
import { fail } from '@/lib/queue/fail'
import { poll } from '@/lib/queue/poll'
import { prune } from '@/lib/queue/prune'
import { releaseByPerson } from '@/lib/queue/release-by-person'
import { retry } from '@/lib/queue/retry'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import { allRows, expireClaim, insertWork } from '../support/factories'
import { holderCalls, mustClaim, type Own, reasonOf } from './holders'

const { db, sql } = await setUpDatabase()

async function expireAndSweep({ queueId }: Own): Promise<void> {
  await expireClaim(sql, queueId)
  await sweepStale(db, { batch: 1_000 })
}

async function retake(own: Own): Promise<void> {
  await expireAndSweep(own)
  await mustClaim(db, own, { machineId: 'desktop' })
}

/** What befalls a claim, what its late holder is told, and whether that is so for an attempt that was its last. */
const fates: [string, string, (own: Own) => Promise<unknown>][] = [
  ['taken by another machine after a sweep', 'reclaimed', retake],
  [
    'taken by another machine, which has completed it',
    'completed',
    async (own) => {
      await expireAndSweep(own)
      await holderCalls.complete(db, await mustClaim(db, own, { machineId: 'desktop' }))
    },
  ],
  ['cancelled by a person', 'cancelled', (own) => cancel(db, own.queueId)],
  ['released by a person', 'released', (own) => releaseByPerson(db, own.queueId)],
  [
    'released by a person and taken by another machine',
    'reclaimed',
    async (own) => {
      await releaseByPerson(db, own.queueId)
      await mustClaim(db, own, { machineId: 'desktop' })
    },
  ],
  [
    'cancelled and put back by a person',
    'released',
    async (own) => {
      await cancel(db, own.queueId)
      await retry(db, own.queueId)
    },
  ],
  ['given back by another call of its holder', 'released', (own) => holderCalls.release(db, own)],
  ['failed by another call of its holder', 'released', (own) => holderCalls.fail(db, own)],
  [
    'pruned',
    'unknown',
    async (own) => {
      await cancel(db, own.queueId)
      await sql(`UPDATE dispatch_history SET finished_at = now() - interval '2 days' WHERE id = $1`, [own.queueId])
      await prune(db, { retentionDays: 1, batch: 1_000 })
    },
  ],
]

describe.each(Object.entries(holderCalls))('the late %s of a machine that lost its claim is refused', (_call, call) => {
  test.each(fates)('when the work was %s: %s, and the row is as it was', async (_fate, reason, befall) => {
    const own = await mustClaim(db, await insertWork(sql, { maxAttempts: 5 }), { machineId: 'laptop' })
    await befall(own)
    const before = await allRows(sql, own.queueId)
    expect(await reasonOf(call(db, own))).toBe(reason)
    expect(await allRows(sql, own.queueId)).toStrictEqual(before)
  })

  test('when the sweep failed the work at its last attempt: final is final', async () => {
    const own = await mustClaim(db, await insertWork(sql, { maxAttempts: 1 }), { machineId: 'laptop' })
    await expireAndSweep(own)
    const before = await allRows(sql, own.queueId)
    expect(before).toMatchObject({ queue: [], history: [{ outcome: 'failed', attempts: 1 }] })
    expect(await reasonOf(call(db, own))).toBe('failed')
    expect(await allRows(sql, own.queueId)).toStrictEqual(before)
  })

  test('when it shows another orchestrator: unknown, whatever the token', async () => {
    const own = await mustClaim(db, await insertWork(sql))
    const before = await allRows(sql, own.queueId)
    expect(await reasonOf(call(db, { ...own, orchestratorId: 'another' }))).toBe('unknown')
    expect(await allRows(sql, own.queueId)).toStrictEqual(before)
  })
})

describe('as long as nobody else has claimed the work', () => {
  test.each(['lapsed', 'swept'])('every call of a holder whose claim is %s is accepted', async (how) => {
    for (const call of Object.values(holderCalls)) {
      const own = await mustClaim(db, await insertWork(sql), { machineId: 'laptop' })
      if (how === 'swept') await expireAndSweep(own)
      else await expireClaim(sql, own.queueId)
      expect(await reasonOf(call(db, own))).toBe('accepted')
    }
  })

  test('a heartbeat revives a swept claim: the machine is its holder again, in the same attempt', async () => {
    const own = await mustClaim(db, await insertWork(sql), { machineId: 'laptop', leaseMs: 20_000 })
    await expireAndSweep(own)
    await holderCalls.heartbeat(db, own)
    const { queue } = await allRows(sql, own.queueId)
    expect(queue).toMatchObject([{ claimed_by: 'laptop', claim_token: own.claimToken, attempts: 1, lease_ms: 20_000 }])
    expect(await sweepStale(db, { batch: 1_000 })).toMatchObject({ released: 0, failed: 0 })
    await holderCalls.complete(db, own)
    expect(await allRows(sql, own.queueId)).toMatchObject({ queue: [], history: [{ attempts: 1 }] })
  })
})

describe('a call sent again gets the answer of the first', () => {
  test('complete: completed, and one record', async () => {
    const own = await mustClaim(db, await insertWork(sql))
    for (let n = 0; n < 3; n += 1) expect(await reasonOf(holderCalls.complete(db, own))).toBe('accepted')
    expect((await allRows(sql, own.queueId)).history).toHaveLength(1)
  })

  test('fail at the last attempt: failed, and one record', async () => {
    const own = await mustClaim(db, await insertWork(sql, { maxAttempts: 1 }))
    const call = () => fail(db, { ...own, error: 'red' })
    expect([await call(), await call()]).toStrictEqual([{ outcome: 'failed' }, { outcome: 'failed' }])
    expect((await allRows(sql, own.queueId)).history).toMatchObject([{ attempt_log: [{ how: 'failed' }] }])
  })

  test('but a fail is no complete: each is told what became of the work', async () => {
    const done = await mustClaim(db, await insertWork(sql))
    await holderCalls.complete(db, done)
    expect(await reasonOf(holderCalls.fail(db, done))).toBe('completed')
    const failed = await mustClaim(db, await insertWork(sql, { maxAttempts: 1 }))
    await holderCalls.fail(db, failed)
    expect(await reasonOf(holderCalls.complete(db, failed))).toBe('failed')
  })
})

test('a batch and a poll give the same reasons as single calls do', async () => {
  for (const [, reason, befall] of fates) {
    const own = await mustClaim(db, await insertWork(sql, { maxAttempts: 5 }), { machineId: 'laptop' })
    await befall(own)
    const { orchestratorId, queueId, claimToken } = own
    const entry = { queueId, claimToken }
    const results = await completeBatch(db, { orchestratorId, claims: [entry] })
    expect(results).toStrictEqual([{ queueId, outcome: 'lost', reason }])
    const { lost, renewed } = await poll(db, { orchestratorId, holding: [entry], limit: 20, maxBytes: 1_000 })
    expect({ lost, renewed }).toStrictEqual({ lost: [{ queueId, reason }], renewed: [] })
  }
})
