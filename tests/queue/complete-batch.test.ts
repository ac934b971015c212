import { describe, expect, test } from 'vitest'
import { cancel } from '@/lib/queue/cancel'
import { complete } from '@/lib/queue/complete'
import { completeBatch } from '@/lib/queue/complete-batch'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import { allRows, expireClaim, insertClaimed, insertWork, newOrchestratorId, onlyRow } from '../support/factories'
import { completeAll, holderCalls, mustClaim, type Own } from './holders'

const { db, sql } = await setUpDatabase()

async function retake(own: Own): Promise<void> {
  await expireClaim(sql, own.queueId)
  await sweepStale(db, { batch: 1_000 })
  await mustClaim(db, own, { machineId: 'desktop' })
}

/** What befalls a claim before its batch comes, and what the batch says of it. */
const fates: [string, (own: Own) => Promise<unknown>][] = [
  ['reclaimed', retake],
  ['cancelled', ({ queueId }) => cancel(db, queueId)],
  ['released', (own) => holderCalls.release(db, own)],
  ['unknown', ({ queueId }) => sql('DELETE FROM dispatch_queue WHERE id = $1', [queueId])],
  ['failed', (own) => holderCalls.fail(db, own)],
]

test('every entry stands for itself, in the caller’s order: what is lost is untouched, and all else is completed', async () => {
  const orchestratorId = newOrchestratorId()
  const claims: Own[] = []
  const expected: object[] = []
  const untouched = new Map<number, unknown>()
  for (const [reason, befall] of fates) {
    const maxAttempts = reason === 'failed' ? 1 : 5
    const lost = await mustClaim(db, await insertWork(sql, { orchestratorId, maxAttempts }), { machineId: 'laptop' })
    const held = await mustClaim(db, await insertWork(sql, { orchestratorId }), { machineId: 'laptop' })
    await befall(lost)
    untouched.set(lost.queueId, await allRows(sql, lost.queueId))
    claims.unshift(held, lost)
    expected.unshift(
      { queueId: held.queueId, outcome: 'completed' },
      { queueId: lost.queueId, outcome: 'lost', reason },
    )
  }
  expect(await completeAll(db, claims)).toStrictEqual(expected)
  for (const [queueId, rows] of untouched) expect(await allRows(sql, queueId)).toStrictEqual(rows)
  for (const { queueId } of claims.filter(({ queueId }) => !untouched.has(queueId))) {
    expect(await onlyRow(sql, queueId)).toMatchObject({ outcome: 'completed' })
  }
})

test('another orchestrator’s claim is unknown to it, whatever the token', async () => {
  const own = await insertClaimed(sql)
  const before = await allRows(sql, own.queueId)
  const answer = await completeAll(db, [{ ...own, orchestratorId: newOrchestratorId() }])
  expect(answer).toStrictEqual([{ queueId: own.queueId, outcome: 'lost', reason: 'unknown' }])
  expect(await allRows(sql, own.queueId)).toStrictEqual(before)
})

describe('a batch and a single call', () => {
  const entry = { attempt: 2, machine: 'laptop', how: 'completed', error: null }

  /** A record without what two pieces of work never share. */
  const record = ({
    id,
    claim_token,
    claimed_at,
    created_at,
    available_at,
    finished_at,
    attempt_log,
    ...rest
  }: Record<string, unknown>) => rest

  test.each([
    ['running', {}],
    ['swept', { claimedAt: null, claimExpiresAt: null }],
  ])('leave the same record of a claim that is %s', async (_how, state) => {
    const orchestratorId = newOrchestratorId()
    const columns = { orchestratorId, priority: 2, attempts: 2, claimedBy: 'laptop', progress: 80, ...state }
    const [one, other] = [await insertClaimed(sql, columns), await insertClaimed(sql, columns)]
    await complete(db, { ...one, result: [1] })
    const { queueId, claimToken } = other
    await completeBatch(db, { orchestratorId, claims: [{ queueId, claimToken, result: [1] }] })
    const [single, batched] = [await onlyRow(sql, one.queueId), await onlyRow(sql, queueId)]
    expect(record(batched)).toStrictEqual(record(single))
    expect([single.attempt_log, batched.attempt_log]).toMatchObject([[entry], [entry]])
  })

  test('recognise each other’s claim as completed already, and keep the first result', async () => {
    const own = await insertClaimed(sql)
    await complete(db, { ...own, result: 'single' })
    expect(await completeAll(db, [own])).toStrictEqual([{ queueId: own.queueId, outcome: 'completed' }])
    expect(await onlyRow(sql, own.queueId)).toMatchObject({ result: 'single' })
    const other = await insertClaimed(sql)
    await completeAll(db, [other])
    expect(await complete(db, { ...other, result: 'late' })).toStrictEqual({ outcome: 'completed' })
    expect(await onlyRow(sql, other.queueId)).toMatchObject({ result: null })
  })
})
