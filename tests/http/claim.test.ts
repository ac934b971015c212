import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { claimNextResponse, claimResponse } from '@/lib/protocol/claim'
import { heartbeatResponse } from '@/lib/protocol/settle'
import { ahead, expireClaim, insertClaimed, insertFinished, insertWork, onlyRow } from '../support/factories'
import { expectAnswer, expectProblem } from './answers'
import { everyRow, insertKey, newOrchestrator, setUpInstance } from './instance'

const { sql, send } = await setUpInstance({ environment: { DISPATCH_CLAIM_TIMEOUT_MS: '120000' } })

async function setUpWork() {
  const { orchestratorId, key } = await newOrchestrator(sql)
  const { queueId } = await insertWork(sql, { orchestratorId })
  const claim = async (json: object = {}) =>
    expectAnswer(
      await send('POST', '/api/claim', { key, json: { orchestratorId, queueId, ...json } }),
      200,
      claimResponse,
    ).claim
  return { orchestratorId, key, queueId, claim }
}

describe('POST /api/claim', () => {
  test('200 with the payload, the token and the lease, in milliseconds of UTC', async () => {
    const { queueId, claim } = await setUpWork()
    const claimed = await claim({ machineId: 'laptop' })
    const [row] = await sql(
      `SELECT claim_token AS "claimToken", to_char(claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "claimedAt",
              to_char(claim_expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "claimExpiresAt"
         FROM dispatch_queue WHERE id = $1`,
      [queueId],
    )
    expect(claimed).toStrictEqual({ queueId, payload: { issue: 'LIN-1' }, attempts: 1, leaseMs: 120_000, ...row })
  })

  test('200 for exactly one of fifty at once, and null for the others', async () => {
    const { claim } = await setUpWork()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => claim({ machineId: `machine-${index}` })),
    )
    expect(answers.filter((claimed) => claimed !== null)).toHaveLength(1)
  })

  test.each([
    ['unknown', async () => ({ queueId: 9_007_199_254_740_991 })],
    ['claimed', (orchestratorId: string) => insertClaimed(sql, { orchestratorId })],
    ['not due yet', (orchestratorId: string) => insertWork(sql, { orchestratorId, availableAt: ahead('1 hour') })],
    ['finished', (orchestratorId: string) => insertFinished(sql, { orchestratorId })],
    ["another orchestrator's", () => insertWork(sql)],
  ])('200 with null for work that is %s, which stays as it was', async (_, insert) => {
    const { orchestratorId, claim } = await setUpWork()
    const { queueId } = await insert(orchestratorId)
    const before = await everyRow(sql)
    expect(await claim({ queueId })).toBeNull()
    expect(await everyRow(sql)).toStrictEqual(before)
  })

  test("200 with the same claim when it is repeated with the caller's own token, one attempt counted", async () => {
    const { claim } = await setUpWork()
    const own = { machineId: 'laptop', claimToken: randomUUID() }
    const first = await claim(own)
    expect(first).toMatchObject({ claimToken: own.claimToken, attempts: 1 })
    expect(await claim(own)).toStrictEqual(first)
    expect(await claim({ ...own, claimToken: randomUUID() })).toBeNull()
    expect(await claim({ ...own, machineId: 'desktop' })).toBeNull()
  })

  test('200 when a token takes over its own open claim: the old one is overtaken and learns it', async () => {
    const { orchestratorId, key, queueId, claim } = await setUpWork()
    const first = await claim({ machineId: 'laptop' })
    const second = await claim({ machineId: 'laptop', previousToken: first?.claimToken })
    expect(second).toMatchObject({ attempts: 1, claimedAt: first?.claimedAt })
    const late = { orchestratorId, queueId, claimToken: first?.claimToken }
    const before = await onlyRow(sql, queueId)
    for (const [path, more] of [
      ['heartbeat', {}],
      ['complete', {}],
      ['fail', { error: 'x' }],
      ['release', {}],
    ] as const) {
      const answer = await send('POST', `/api/${path}`, { key, json: { ...late, ...more } })
      expect(expectProblem(answer, 409, 'claim-lost').reason).toBe('reclaimed')
    }
    expect(await onlyRow(sql, queueId)).toStrictEqual(before)
  })

  test("200 with the request's lease, else the row's own, else the setting's", async () => {
    const { orchestratorId, claim } = await setUpWork()
    const { queueId } = await insertWork(sql, { orchestratorId, claimTimeoutMs: 30_000 })
    const other = await insertWork(sql, { orchestratorId, claimTimeoutMs: 30_000 })
    expect(await claim()).toMatchObject({ leaseMs: 120_000 })
    expect(await claim({ queueId })).toMatchObject({ leaseMs: 30_000 })
    expect(await claim({ queueId: other.queueId, claimTimeoutMs: 1_000 })).toMatchObject({ leaseMs: 1_000 })
  })

  test('200 for a stale row only after a sweep, by which time the late holder can still renew it if nobody took it', async () => {
    const { key, queueId, orchestratorId, claim } = await setUpWork()
    const first = await claim()
    await expireClaim(sql, queueId)
    expect(await claim()).toBeNull()
    const json = { orchestratorId, queueId, claimToken: first?.claimToken }
    expectAnswer(await send('POST', '/api/heartbeat', { key, json }), 200, heartbeatResponse)
  })
})

describe('POST /api/claim/next', () => {
  const claimNext = async (key: string, json: object) =>
    expectAnswer(await send('POST', '/api/claim/next', { key, json }), 200, claimNextResponse).claims

  test('200 with one claim unless told, then up to the limit, in claim order; then with none', async () => {
    const { orchestratorId, key } = await newOrchestrator(sql)
    const ids: number[] = []
    for (const priority of [5, 5, -1, 0]) ids.push((await insertWork(sql, { orchestratorId, priority })).queueId)
    const first = await claimNext(key, { orchestratorId, machineId: 'laptop' })
    expect(first.map((claimed) => claimed.queueId)).toStrictEqual([ids[2]])
    const rest = await claimNext(key, { orchestratorId, limit: 100 })
    expect(rest.map((claimed) => claimed.queueId)).toStrictEqual([ids[3], ids[0], ids[1]])
    expect(await claimNext(key, { orchestratorId, limit: 5 })).toStrictEqual([])
  })

  test('200 for twenty at once, who get each row once', async () => {
    const { orchestratorId, key } = await newOrchestrator(sql)
    for (let n = 0; n < 30; n += 1) await insertWork(sql, { orchestratorId })
    const answers = await Promise.all(Array.from({ length: 20 }, () => claimNext(key, { orchestratorId, limit: 3 })))
    const got = answers.flat().map((claimed) => claimed.queueId)
    const rest = await claimNext(key, { orchestratorId, limit: 100 })
    expect(new Set([...got, ...rest.map((claimed) => claimed.queueId)]).size).toBe(30)
    expect(got.length + rest.length).toBe(30)
  })

  test('409 for a person who acts in between, and for the machine afterwards', async () => {
    const admin = await insertKey(sql, 'admin')
    const { orchestratorId, key } = await newOrchestrator(sql)
    const { queueId } = await insertWork(sql, { orchestratorId })
    const [claimed] = await claimNext(key, { orchestratorId })
    await send('POST', `/api/work/${queueId}/cancel`, { key: admin })
    const json = { orchestratorId, queueId, claimToken: claimed?.claimToken }
    expect(expectProblem(await send('POST', '/api/complete', { key, json }), 409, 'claim-lost').reason).toBe(
      'cancelled',
    )
    const again = expectProblem(await send('POST', `/api/work/${queueId}/cancel`, { key: admin }), 409, 'wrong-state')
    expect(again.state).toBe('cancelled')
  })
})
