import { describe, expect, test } from 'vitest'
import { complete } from '@/lib/queue/complete'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import { ago, allRows, expireClaim, insertClaimed, insertWork, onlyRow } from '../support/factories'
import { holderCalls, mustClaim } from './holders'

const { db, sql } = await setUpDatabase()

const resultOf = async (queueId: number) =>
  (await sql<{ result: string | null }>('SELECT result::text FROM dispatch_history WHERE id = $1', [queueId]))[0]
    ?.result

describe('completed work', () => {
  test('moves to history whole: what was known of it, its result, and how its attempt ended', async () => {
    const own = await insertClaimed(sql, {
      payload: { issue: 'ENG-142' },
      priority: -3,
      dedupeKey: 'ENG-142',
      enqueueId: '0190e0b0-0000-7000-8000-000000000001',
      attempts: 2,
      maxAttempts: 7,
      claimTimeoutMs: 45_000,
      availableAt: ago('1 hour'),
      createdAt: ago('2 hours'),
      progress: 90,
      progressNote: 'opening the pull request',
      lastError: 'of an earlier try',
      attemptLog: [{ attempt: 1, how: 'failed' }],
    })
    const { lease_ms, claim_expires_at, payload_bytes, ...known } = await onlyRow(sql, own.queueId)
    expect(await complete(db, { ...own, result: { pullRequest: 77 } })).toStrictEqual({ outcome: 'completed' })
    const { queue, history } = await allRows(sql, own.queueId)
    expect(queue).toStrictEqual([])
    const [{ finished_at, attempt_log: log, ...kept } = {}] = history
    expect({ ...kept, attempt_log: known.attempt_log }).toStrictEqual({
      ...known,
      outcome: 'completed',
      result: { pullRequest: 77 },
    })
    expect(log).toMatchObject([
      { attempt: 1, how: 'failed' },
      { attempt: 2, how: 'completed', machine: own.machineId, error: null },
    ])
    expect(JSON.stringify(log)).not.toContain(own.claimToken)
    expect([lease_ms, claim_expires_at, payload_bytes, finished_at]).not.toContain(null)
  })

  test.each<[string, unknown, string | null]>([
    ['none', undefined, null],
    ['a JSON null', null, 'null'],
    ['a text that holds JSON', '{"a": 1}', '"{\\"a\\": 1}"'],
    ['a zero', 0, '0'],
    ['a list', [1, 'two', null], '[1, "two", null]'],
    ['keys that JavaScript treats as special', JSON.parse('{"__proto__": {"x": 1}}'), '{"__proto__": {"x": 1}}'],
  ])('keeps its result as it was given: %s', async (_what, result, kept) => {
    const own = await insertClaimed(sql)
    await complete(db, { ...own, result })
    expect(await resultOf(own.queueId)).toBe(kept)
  })

  test('keeps its first result when it is completed again with another', async () => {
    const own = await insertClaimed(sql)
    await complete(db, { ...own, result: 'first' })
    const before = await allRows(sql, own.queueId)
    expect(await complete(db, { ...own, result: 'second' })).toStrictEqual({ outcome: 'completed' })
    expect(await allRows(sql, own.queueId)).toStrictEqual(before)
  })

  test('counts the attempt of a holder whose claim was swept, as the same one', async () => {
    const own = await mustClaim(db, await insertWork(sql), { machineId: 'laptop' })
    await expireClaim(sql, own.queueId)
    await sweepStale(db, { batch: 1_000 })
    await holderCalls.complete(db, own)
    expect(await onlyRow(sql, own.queueId)).toMatchObject({
      outcome: 'completed',
      attempts: 1,
      claimed_by: 'laptop',
      attempt_log: [
        { attempt: 1, how: 'expired' },
        { attempt: 1, how: 'completed' },
      ],
    })
  })
})
