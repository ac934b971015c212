import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  completeBatchResponse,
  completeResponse,
  failResponse,
  heartbeatResponse,
  releaseResponse,
} from '@/lib/protocol/settle'
import { workResponse } from '@/lib/protocol/work'
import { insertClaimed, insertFinished, insertWork, onlyRow } from '../support/factories'
import { expectAnswer, expectInvalid, expectProblem } from './answers'
import { ADMIN_KEY, everyRow, newOrchestrator, setUpInstance } from './instance'

const { sql, send } = await setUpInstance()
const { orchestratorId, key } = await newOrchestrator(sql)

const post = (path: string, json: object) => send('POST', `/api/${path}`, { key, json })
const claimed = async (columns: object = {}) => {
  const { queueId, claimToken } = await insertClaimed(sql, { orchestratorId, ...columns })
  return { orchestratorId, queueId, claimToken }
}

/** What becomes of a claim, and the reason that its holder is given then. */
const lost = {
  completed: () => insertFinished(sql, { orchestratorId, outcome: 'completed' }),
  failed: () => insertFinished(sql, { orchestratorId, outcome: 'failed' }),
  cancelled: (claimToken: string) => insertFinished(sql, { orchestratorId, outcome: 'cancelled', claimToken }),
  reclaimed: () => insertClaimed(sql, { orchestratorId }),
  released: () => insertWork(sql, { orchestratorId }),
  unknown: async () => ({ queueId: 9_007_199_254_740_991 }),
}

describe.each([
  ['heartbeat', {}],
  ['complete', { result: 1 }],
  ['fail', { error: 'red' }],
  ['release', {}],
])('POST /api/%s', (path, more) => {
  test.each(Object.entries(lost))(
    '409 claim-lost with reason %s, and the row stays as it was',
    async (reason, insert) => {
      const claimToken = randomUUID()
      const { queueId } = await insert(claimToken)
      const before = await everyRow(sql)
      const refused = expectProblem(
        await post(path, { orchestratorId, queueId, claimToken, ...more }),
        409,
        'claim-lost',
      )
      expect(refused.reason).toBe(reason)
      expect(await everyRow(sql)).toStrictEqual(before)
    },
  )
})

describe('POST /api/heartbeat', () => {
  test('200 with the renewed lease, and keeps the progress', async () => {
    const claim = await claimed({ leaseMs: 40_000 })
    const answer = expectAnswer(
      await post('heartbeat', { ...claim, progress: 40, note: 'half\u0000\ud800' }),
      200,
      heartbeatResponse,
    )
    expect(answer.leaseMs).toBe(40_000)
    expect(await onlyRow(sql, claim.queueId)).toMatchObject({ progress: 40, progress_note: 'half\ufffd\ufffd' })
    const longer = expectAnswer(await post('heartbeat', { ...claim, claimTimeoutMs: 90_000 }), 200, heartbeatResponse)
    expect(longer.leaseMs).toBe(90_000)
    expect(longer.claimExpiresAt > answer.claimExpiresAt).toBe(true)
  })
})

describe('POST /api/complete', () => {
  test('200, and 200 again for the same call, with one record', async () => {
    const claim = await claimed()
    expectAnswer(await post('complete', { ...claim, result: { pullRequest: 7 } }), 200, completeResponse)
    expectAnswer(await post('complete', claim), 200, completeResponse)
    expect(await onlyRow(sql, claim.queueId)).toMatchObject({ outcome: 'completed', result: { pullRequest: 7 } })
  })

  test('200 keeps a JSON null as a result, and no result as none', async () => {
    const [withNull, without] = [await claimed(), await claimed()]
    await post('complete', { ...withNull, result: null })
    await post('complete', without)
    const stored = await sql('SELECT result IS NULL AS missing FROM dispatch_history WHERE id = ANY ($1) ORDER BY id', [
      [withNull.queueId, without.queueId],
    ])
    expect(stored).toStrictEqual([{ missing: false }, { missing: true }])
  })
})

describe('POST /api/complete/batch', () => {
  const entry = ({ queueId, claimToken }: { queueId: number; claimToken: string }) => ({ queueId, claimToken })

  test('200 with each claim completed or lost, in the order of the request', async () => {
    const good = await claimed()
    const claims = [
      { queueId: (await lost.reclaimed()).queueId, claimToken: randomUUID() },
      { ...entry(good), result: null },
      { queueId: 9_007_199_254_740_991, claimToken: randomUUID() },
    ]
    const { results } = expectAnswer(
      await post('complete/batch', { orchestratorId, claims }),
      200,
      completeBatchResponse,
    )
    expect(results).toStrictEqual([
      { queueId: claims[0]?.queueId, outcome: 'lost', reason: 'reclaimed' },
      { queueId: good.queueId, outcome: 'completed' },
      { queueId: claims[2]?.queueId, outcome: 'lost', reason: 'unknown' },
    ])
  })

  test('200 for 100 claims; 400 for none, for 101 and for the same twice, with nothing done', async () => {
    const claims = await Promise.all(Array.from({ length: 100 }, async () => entry(await claimed())))
    const before = await everyRow(sql)
    const batch = (list: object[]) => post('complete/batch', { orchestratorId, claims: list })
    expectInvalid(await batch([]), 'claims')
    expectInvalid(await batch([...claims, { queueId: 1, claimToken: randomUUID() }]), 'claims')
    expectInvalid(await batch([...claims.slice(1), ...claims.slice(1, 2)]), 'claims')
    expectInvalid(await batch([...claims.slice(1), { queueId: 1, claimToken: 'x' }]), 'claims[99].claimToken')
    expect(await everyRow(sql)).toStrictEqual(before)
    const { results } = expectAnswer(await batch(claims), 200, completeBatchResponse)
    expect(results.filter((result) => result.outcome === 'completed')).toHaveLength(100)
  })
})

describe('POST /api/fail', () => {
  test('200 retrying, due after the delay that was asked for; sent twice: 409 released', async () => {
    const claim = await claimed()
    const answer = expectAnswer(
      await post('fail', { ...claim, error: 'red', retryDelayMs: 3_600_000 }),
      200,
      failResponse,
    )
    const [row] = await sql(
      `SELECT to_char(available_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, available_at > now() + interval '59 minutes' AS late
         FROM dispatch_queue WHERE id = $1`,
      [claim.queueId],
    )
    expect(answer).toStrictEqual({ outcome: 'retrying', availableAt: row?.at })
    expect(row?.late).toBe(true)
    expect(expectProblem(await post('fail', { ...claim, error: 'red' }), 409, 'claim-lost').reason).toBe('released')
  })

  test('200 failed, at the last attempt or when it is not to be retried, and the same answer again', async () => {
    const last = await claimed({ attempts: 3, maxAttempts: 3 })
    const hopeless = { ...(await claimed()), retryable: false }
    for (const claim of [last, last, hopeless, hopeless]) {
      expect(expectAnswer(await post('fail', { ...claim, error: 'red' }), 200, failResponse)).toStrictEqual({
        outcome: 'failed',
      })
    }
  })

  test('200 whatever the error text holds: it is mended and cut, and people see it so', async () => {
    const claim = await claimed()
    const error = `${'x'.repeat(9_999)}😀\u0000`
    expectAnswer(await post('fail', { ...claim, error: `\u0000\udc00${error}` }), 200, failResponse)
    const shown = expectAnswer(await send('GET', `/api/work/${claim.queueId}`, { key: ADMIN_KEY }), 200, workResponse)
    expect(shown.lastError).toBe(`\ufffd\ufffd${'x'.repeat(9_998)}`)
    expect(shown.attemptLog).toMatchObject([{ how: 'failed', attempt: 1, error: `\ufffd\ufffd${'x'.repeat(998)}` }])
  })
})

test('POST /api/release: 200, and the attempt does not count; sent twice: 409 released', async () => {
  const claim = await claimed({ attempts: 2 })
  expectAnswer(await post('release', claim), 200, releaseResponse)
  expect(await onlyRow(sql, claim.queueId)).toMatchObject({ attempts: 1, claimed_at: null, claim_token: null })
  expect(expectProblem(await post('release', claim), 409, 'claim-lost').reason).toBe('released')
})
