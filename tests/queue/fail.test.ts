import { describe, expect, test } from 'vitest'
import { fail } from '@/lib/queue/fail'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import { allRows, expireClaim, insertClaimed, insertWork, newOrchestratorId, onlyRow } from '../support/factories'
import { holdRow, waitUntilBlocked } from '../support/gate'
import { setUpLevels } from './claims'
import { holderCalls, mustClaim, reasonOf } from './holders'

const { db, sql } = await setUpDatabase()

async function delayAfter(queueId: number): Promise<number> {
  const [row] = await sql<{ ms: number }>(
    `SELECT extract(epoch FROM available_at - (attempt_log -> -1 ->> 'endedAt')::timestamptz)::float8 * 1000 AS ms
       FROM dispatch_queue WHERE id = $1`,
    [queueId],
  )
  return row?.ms ?? Number.NaN
}

describe('the backoff after a failure', () => {
  test.each<[number, number]>([
    [0, 10_000],
    [1, 10_000],
    [2, 20_000],
    [5, 160_000],
    [9, 2_560_000],
    [10, 3_600_000],
    ...[25, 30, 31, 32, 33, 63, 64, 2_000, 1_000_000].map((attempts): [number, number] => [attempts, 3_600_000]),
  ])('at %i attempts is %i ms and up to a fifth more', async (attempts, leastMs) => {
    const own = await insertClaimed(sql, { attempts: 1, maxAttempts: 100 })
    await sql('ALTER DOMAIN dispatch_max_attempts DROP CONSTRAINT IF EXISTS dispatch_max_attempts_range')
    await sql('UPDATE dispatch_queue SET attempts = $2, max_attempts = 2000000 WHERE id = $1', [own.queueId, attempts])
    expect(await fail(db, { ...own, error: 'red' })).toMatchObject({ outcome: 'retrying' })
    const ms = await delayAfter(own.queueId)
    expect(ms).toBeGreaterThanOrEqual(leastMs - 1)
    expect(ms).toBeLessThanOrEqual(leastMs * 1.2 + 1)
  })

  test('spreads what failed together', async () => {
    const orchestratorId = newOrchestratorId()
    for (let n = 0; n < 100; n += 1) {
      await fail(db, { ...(await insertClaimed(sql, { orchestratorId })), error: 'red' })
    }
    const [spread] = await sql<{ ms: number }>(
      `SELECT extract(epoch FROM max(available_at - (attempt_log -> -1 ->> 'endedAt')::timestamptz)
                               - min(available_at - (attempt_log -> -1 ->> 'endedAt')::timestamptz))::float8 * 1000 AS ms
         FROM dispatch_queue WHERE orchestrator_id = $1`,
      [orchestratorId],
    )
    expect(spread?.ms).toBeGreaterThan(1_500)
  })

  test.each([0, 90_000, 31 * 86_400_000])('is exactly what the caller asks for: %i ms', async (retryDelayMs) => {
    const own = await insertClaimed(sql)
    await fail(db, { ...own, error: 'red', retryDelayMs })
    expect(Math.abs((await delayAfter(own.queueId)) - retryDelayMs)).toBeLessThanOrEqual(1)
  })
})

test('a failed attempt goes back unclaimed with its error, and a heartbeat in flight cannot revive it', async () => {
  const own = await mustClaim(db, await insertWork(sql), { machineId: 'laptop' })
  await fail(db, { ...own, error: 'tests are red' })
  expect(await onlyRow(sql, own.queueId)).toMatchObject({
    claimed_at: null,
    claim_token: null,
    lease_ms: null,
    attempts: 1,
    last_error: 'tests are red',
    attempt_log: [{ attempt: 1, machine: 'laptop', how: 'failed', error: 'tests are red' }],
  })
  await expect(holderCalls.heartbeat(db, own)).rejects.toMatchObject({ refusal: { reason: 'released' } })
})

test.each([
  ['its last attempt', { attempts: 3, maxAttempts: 3 }, {}],
  ['an attempt beyond the last', { attempts: 9, maxAttempts: 3 }, {}],
  ['a failure that no retry mends', {}, { retryable: false }],
])('after %s work is failed for good', async (_what, columns, more) => {
  const own = await insertClaimed(sql, columns)
  expect(await fail(db, { ...own, error: 'red', ...more })).toStrictEqual({ outcome: 'failed' })
  expect(await allRows(sql, own.queueId)).toMatchObject({
    queue: [],
    history: [{ outcome: 'failed', last_error: 'red', claim_token: own.claimToken, result: null }],
  })
})

test('the answer says when the work is due again', async () => {
  const own = await insertClaimed(sql)
  const answer = await fail(db, { ...own, error: 'red', retryDelayMs: 90_000 })
  const { available_at: due } = await onlyRow(sql, own.queueId)
  expect(answer).toStrictEqual({ outcome: 'retrying', availableAt: new Date(String(due)).toISOString() })
})

test('a swept claim that fails late waits its backoff as well, and counts one attempt', async () => {
  const own = await mustClaim(db, await insertWork(sql), { machineId: 'laptop' })
  await expireClaim(sql, own.queueId)
  await sweepStale(db, { batch: 1_000 })
  await fail(db, { ...own, error: 'red' })
  expect(await delayAfter(own.queueId)).toBeGreaterThanOrEqual(9_999)
  expect(await onlyRow(sql, own.queueId)).toMatchObject({
    attempts: 1,
    claim_token: null,
    attempt_log: [
      { attempt: 1, how: 'expired' },
      { attempt: 1, how: 'failed', error: 'red' },
    ],
  })
})

describe.each(await setUpLevels())('two identical reports at one instant, at $level', ({ at }) => {
  const failTwice = async (maxAttempts: number) => {
    const own = await insertClaimed(at.sql, { maxAttempts })
    const gate = await holdRow(at, own.queueId)
    const both = [reasonOf(holderCalls.fail(at.db, own)), reasonOf(holderCalls.fail(at.db, own))]
    await waitUntilBlocked(at, 2)
    await gate.release()
    return { answers: (await Promise.all(both)).sort(), row: await onlyRow(at.sql, own.queueId) }
  }

  test('put the work back once: the second is told that it was released', async () => {
    const { answers, row } = await failTwice(3)
    expect(answers).toStrictEqual(['accepted', 'released'])
    expect(row).toMatchObject({ attempts: 1, attempt_log: [{ how: 'failed' }] })
  })

  test('at the last attempt get the same answer, and leave one record', async () => {
    const { answers, row } = await failTwice(1)
    expect(answers).toStrictEqual(['accepted', 'accepted'])
    expect(row).toMatchObject({ outcome: 'failed', attempt_log: [{ how: 'failed' }] })
  })
})

test('an error text never makes the report fail: it is mended and cut, without splitting a pair', async () => {
  const own = await insertClaimed(sql)
  await fail(db, { ...own, error: `\0\ud800${'x'.repeat(9_997)}😀` })
  const { last_error: error } = await onlyRow(sql, own.queueId)
  expect(error).toBe(`\ufffd\ufffd${'x'.repeat(9_997)}`)
})

test('the attempt log keeps the last hundred attempts, short errors, and never a token', async () => {
  const work = await insertWork(sql, { maxAttempts: 100 })
  const tokens: string[] = []
  for (let attempt = 1; attempt <= 99; attempt += 1) {
    const own = await mustClaim(db, work, { machineId: 'laptop' })
    tokens.push(own.claimToken)
    await fail(db, { ...own, error: `${attempt} ${'x'.repeat(2_000)}`, retryDelayMs: 0 })
  }
  const own = await mustClaim(db, work)
  await holderCalls.release(db, own)
  await holderCalls.complete(db, await mustClaim(db, work))
  const { attempt_log: log } = await onlyRow(sql, work.queueId)
  expect(log).toHaveLength(100)
  expect(log).toMatchObject([
    { attempt: 2 },
    ...Array(97).fill({ how: 'failed' }),
    { how: 'released' },
    { how: 'completed' },
  ])
  const text = JSON.stringify(log)
  expect(tokens.filter((token) => text.includes(token))).toStrictEqual([])
  expect(text.length).toBeLessThan(100 * 1_300)
})
