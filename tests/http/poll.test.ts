import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { pollQueryResponse, pollResponse } from '@/lib/protocol/poll'
import { ahead, insertClaimed, insertFinished, insertWork, onlyRow } from '../support/factories'
import { expectAnswer, expectInvalid } from './answers'
import { everyRow, newOrchestrator, setUpInstance } from './instance'

const { sql, send } = await setUpInstance()

async function setUpMachine() {
  const { orchestratorId, key } = await newOrchestrator(sql)
  const get = async (query = '') =>
    expectAnswer(
      await send('GET', `/api/poll?orchestratorId=${orchestratorId}${query}`, { key }),
      200,
      pollQueryResponse,
    )
  const answerTo = (json: object) => send('POST', '/api/poll', { key, json: { orchestratorId, ...json } })
  const post = async (json: object) => expectAnswer(await answerTo(json), 200, pollResponse)
  return { orchestratorId, key, get, post, answerTo }
}

const instants = `to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "createdAt",
  to_char(available_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "availableAt"`

describe.each(['GET', 'POST'] as const)('%s /api/poll', (method) => {
  const setUp = async () => {
    const machine = await setUpMachine()
    const poll = (values: Record<string, string | number> = {}) =>
      method === 'POST'
        ? machine.post(values)
        : machine.get(
            Object.entries(values)
              .map(([name, value]) => `&${name}=${value}`)
              .join(''),
          )
    return { ...machine, poll }
  }

  test('200 with what may be claimed, in claim order, and no payload; more often while there is work', async () => {
    const { orchestratorId, poll } = await setUp()
    expect(await poll()).toMatchObject({ queued: [], held: [], pollAfterMs: 5_000 })
    const low = await insertWork(sql, { orchestratorId, priority: 9 })
    const high = await insertWork(sql, { orchestratorId, priority: -9, attempts: 1 })
    await insertWork(sql, { orchestratorId, availableAt: ahead('1 hour') })
    await insertFinished(sql, { orchestratorId })
    await insertWork(sql)
    const answer = await poll()
    expect(answer.pollAfterMs).toBe(1_000)
    const rows = await sql(
      `SELECT id AS "queueId", priority, attempts, ${instants} FROM dispatch_queue WHERE id = ANY ($1) ORDER BY priority`,
      [[low.queueId, high.queueId]],
    )
    expect(answer.queued).toStrictEqual(rows)
    expect((await poll({ limit: 1 })).queued.map((row) => row.queueId)).toStrictEqual([high.queueId])
  })

  test('200 with twenty rows unless told', async () => {
    const { orchestratorId, poll } = await setUp()
    for (let n = 0; n < 25; n += 1) await insertWork(sql, { orchestratorId })
    expect((await poll()).queued).toHaveLength(20)
    expect((await poll({ limit: 100 })).queued).toHaveLength(25)
  })

  test('200 with what this machine holds, payload and token, and what no other machine does', async () => {
    const { orchestratorId, poll } = await setUp()
    const own = await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop' })
    await insertClaimed(sql, { orchestratorId, claimedBy: 'desktop' })
    expect(await poll({ machineId: 'laptop' })).toMatchObject({
      held: [
        { queueId: own.queueId, claimToken: own.claimToken, payload: { issue: 'LIN-1' }, attempts: 1, leaseMs: 60_000 },
      ],
    })
    expect(await poll()).toMatchObject({ held: [] })
  })

  test('200 writes nothing but that the machine was seen, with its client', async () => {
    const { orchestratorId, key, poll } = await setUp()
    await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop' })
    const stored = async () =>
      (await everyRow(sql)).filter((row) => !JSON.stringify(row).includes('"place":"machines"'))
    const before = await stored()
    await poll()
    expect(await stored()).toStrictEqual(before)
    const url = `/api/poll?orchestratorId=${orchestratorId}&machineId=laptop`
    const headers = { 'dispatch-client-version': `1.2.3${'x'.repeat(100)}` }
    // Notes of machines are written together, every five seconds.
    await expect
      .poll(
        async () => {
          await send('GET', url, { key, headers })
          return sql('SELECT machine_id, version FROM machines WHERE orchestrator_id = $1', [orchestratorId])
        },
        { timeout: 20_000 },
      )
      .toStrictEqual([{ machine_id: 'laptop', version: `1.2.3${'x'.repeat(45)}` }])
  })
})

describe('POST /api/poll with holding', () => {
  test('200 renews what is held and names what is lost, with the reason; held leaves out what was named', async () => {
    const { orchestratorId, post } = await setUpMachine()
    const own = await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop', leaseMs: 30_000 })
    const forgotten = await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop' })
    const done = await insertFinished(sql, { orchestratorId })
    const answer = await post({
      machineId: 'laptop',
      holding: [
        { queueId: own.queueId, claimToken: own.claimToken, progress: 50, note: 'half' },
        { queueId: done.queueId, claimToken: done.claimToken },
        { queueId: 9_007_199_254_740_991, claimToken: randomUUID() },
      ],
    })
    expect(answer).toMatchObject({
      renewed: [{ queueId: own.queueId, leaseMs: 30_000 }],
      lost: [
        { queueId: done.queueId, reason: 'completed' },
        { queueId: 9_007_199_254_740_991, reason: 'unknown' },
      ],
      held: [{ queueId: forgotten.queueId }],
    })
    expect(await onlyRow(sql, own.queueId)).toMatchObject({ progress: 50, progress_note: 'half' })
  })

  test('200 for 1,000 claims; 400 for 1,001 and for the same twice, and none is renewed', async () => {
    const { orchestratorId, answerTo, post } = await setUpMachine()
    const own = await insertClaimed(sql, { orchestratorId })
    const strange = Array.from({ length: 999 }, (_, index) => ({
      queueId: index + 1_000_000,
      claimToken: randomUUID(),
    }))
    const entry = { queueId: own.queueId, claimToken: own.claimToken }
    const before = await onlyRow(sql, own.queueId)
    expectInvalid(await answerTo({ holding: [entry, ...strange, { queueId: 1, claimToken: randomUUID() }] }), 'holding')
    expectInvalid(await answerTo({ holding: [entry, entry] }), 'holding')
    expect(await onlyRow(sql, own.queueId)).toStrictEqual(before)
    const { renewed, lost } = await post({ holding: [entry, ...strange] })
    expect({ renewed: renewed.length, lost: lost.length }).toStrictEqual({ renewed: 1, lost: 999 })
    expect(await post({ holding: [] })).toMatchObject({ renewed: [], lost: [] })
  })
})
