import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { enqueueResponse } from '@/lib/protocol/enqueue'
import { expireClaim, insertClaimed, insertWork, newOrchestratorId } from '../support/factories'
import { expectAnswer } from './answers'
import { ADMIN_KEY, setUpInstance } from './instance'
import { setUpWaiters, untilWaiting } from './waiters'

const instance = await setUpInstance({ environment: { DISPATCH_SWEEP_INTERVAL_MS: '100' } })
const { sql, send } = instance

async function enqueue(orchestratorId: string, ...items: object[]): Promise<number[]> {
  const json = { orchestratorId, items: items.map((item) => ({ payload: 1, ...item })) }
  const answer = expectAnswer(await send('POST', '/api/enqueue', { key: ADMIN_KEY, json }), 201, enqueueResponse)
  return answer.items.map((item) => item.queueId)
}

describe('a caller that waits', () => {
  test('is answered as soon as work comes in at the same instance', async () => {
    const { orchestratorId, get } = await setUpWaiters(instance)
    const waiting = get('laptop')
    await untilWaiting(1)
    const [queueId] = await enqueue(orchestratorId, {})
    expect((await waiting).queued).toMatchObject([{ queueId }])
  })

  test('is answered when another instance, or a producer’s own transaction, puts work in', async () => {
    const { orchestratorId, post } = await setUpWaiters(instance)
    const waiting = post({ machineId: 'laptop' })
    await untilWaiting(1)
    const { queueId } = await insertWork(sql, { orchestratorId })
    expect((await waiting).queued).toMatchObject([{ queueId }])
  })

  test('is answered when a delay is over, and not before', async () => {
    const { orchestratorId, get } = await setUpWaiters(instance)
    const waiting = get('laptop')
    await untilWaiting(1)
    const [queueId] = await enqueue(orchestratorId, { delayMs: 1_200 })
    const { queued } = await waiting
    expect(queued).toMatchObject([{ queueId }])
    const rows = await sql('SELECT available_at <= now() AS due FROM dispatch_queue WHERE id = $1', [queueId])
    expect(rows).toStrictEqual([{ due: true }])
  })

  test('is answered when a holder releases its claim', async () => {
    const { orchestratorId, key, get } = await setUpWaiters(instance)
    const { queueId, claimToken } = await insertClaimed(sql, { orchestratorId })
    const waiting = get('laptop')
    await untilWaiting(1)
    await send('POST', '/api/release', { key, json: { orchestratorId, queueId, claimToken } })
    expect((await waiting).queued).toMatchObject([{ queueId }])
  })

  test('recovers what a dead machine has claimed, though nobody else polls', async () => {
    const { orchestratorId, get } = await setUpWaiters(instance)
    const { queueId } = await insertClaimed(sql, { orchestratorId })
    const waiting = get('laptop')
    await untilWaiting(1)
    await expireClaim(sql, queueId)
    expect((await waiting).queued).toMatchObject([{ queueId }])
  })

  test('is answered with nothing when the time is up, whether it looked or not', async () => {
    const { get, post, next } = await setUpWaiters(instance)
    expect(await get('laptop', 50)).toMatchObject({ queued: [], held: [], pollAfterMs: 5_000 })
    const parked = get('desktop', 3_000)
    await untilWaiting(1)
    expect(await post({ machineId: 'laptop', waitMs: 2_000 })).toMatchObject({ queued: [], held: [], lost: [] })
    expect(await next({ machineId: 'laptop', waitMs: 100 })).toStrictEqual({ claims: [] })
    expect(await parked).toMatchObject({ queued: [], held: [] })
  })

  test('is forgotten once it hangs up: the next one gets the work', async () => {
    const { orchestratorId, get } = await setUpWaiters(instance)
    const hangUp = new AbortController()
    const gone = get('laptop', 25_000, hangUp.signal)
    await untilWaiting(1)
    const waiting = get('desktop')
    await untilWaiting(2)
    hangUp.abort()
    await Promise.allSettled([gone])
    await untilWaiting(1)
    const [queueId] = await enqueue(orchestratorId, {})
    expect((await waiting).queued).toMatchObject([{ queueId }])
  })

  test('hears nothing of another orchestrator’s work', async () => {
    const { get } = await setUpWaiters(instance)
    const waiting = get('laptop', 1_500)
    await untilWaiting(1)
    await enqueue(newOrchestratorId(), {})
    expect((await waiting).queued).toStrictEqual([])
  })
})

describe('of several that wait', () => {
  test('as many are woken as there are new rows, longest waiting first', async () => {
    const { orchestratorId, next } = await setUpWaiters(instance)
    const waiting: Promise<{ machineId: string; claims: unknown[] }>[] = []
    for (const machineId of ['first', 'second', 'third', 'fourth']) {
      waiting.push(next({ machineId }).then(({ claims }) => ({ machineId, claims })))
      await untilWaiting(waiting.length)
    }
    await enqueue(orchestratorId, {}, {})
    const woken = await Promise.all(waiting.slice(0, 2))
    expect(woken.map(({ claims }) => claims.length)).toStrictEqual([1, 1])
    await untilWaiting(2)
    await enqueue(orchestratorId, {}, {})
    expect((await Promise.all(waiting.slice(2))).map(({ claims }) => claims.length)).toStrictEqual([1, 1])
  })

  test('each row goes to one, and who was woken for nothing waits on', async () => {
    const { orchestratorId, next } = await setUpWaiters(instance)
    const one = next({ machineId: 'laptop' })
    const other = next({ machineId: 'desktop' })
    await untilWaiting(2)
    const [first = 0] = await enqueue(orchestratorId, {})
    await untilWaiting(1)
    const [second = 0] = await enqueue(orchestratorId, {})
    const claims = (await Promise.all([one, other])).flatMap((answer) => answer.claims.map((claim) => claim.queueId))
    expect(claims.sort((a, b) => a - b)).toStrictEqual([first, second])
  })
})

describe('what a machine holds', () => {
  test('never ends a wait on GET, and is listed at its end, though the wait began without a look', async () => {
    const { orchestratorId, get } = await setUpWaiters(instance)
    const other = get('desktop', 6_000)
    await untilWaiting(1)
    await get('tablet', 2_500)
    const { queueId } = await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop' })
    const { held, queued } = await get('laptop', 2_500)
    expect(queued).toStrictEqual([])
    expect(held).toMatchObject([{ queueId }])
    await other
  })

  test('ends a wait on POST, though the wait began without a look', async () => {
    const { orchestratorId, get, post } = await setUpWaiters(instance)
    const other = get('desktop', 6_000)
    await untilWaiting(1)
    await get('tablet', 2_500)
    const { queueId } = await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop' })
    expect((await post({ machineId: 'laptop' })).held).toMatchObject([{ queueId }])
    await other
  })

  test('is renewed as the call arrives; what it lost ends the wait at once', async () => {
    const { orchestratorId, post } = await setUpWaiters(instance)
    const own = await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop', leaseMs: 90_000 })
    const { queueId, claimToken } = own
    const gone = { queueId: Number.MAX_SAFE_INTEGER, claimToken: randomUUID() }
    const lost = await post({ machineId: 'laptop', holding: [{ queueId, claimToken }, gone] })
    expect(lost).toMatchObject({ lost: [{ queueId: gone.queueId, reason: 'unknown' }], renewed: [{ queueId }] })

    const waiting = post({ machineId: 'laptop', waitMs: 1_500, holding: [{ queueId, claimToken, progress: 40 }] })
    await untilWaiting(1)
    expect(await sql('SELECT progress FROM dispatch_queue WHERE id = $1', [queueId])).toStrictEqual([{ progress: 40 }])
    expect(await waiting).toMatchObject({ renewed: [{ queueId, leaseMs: 90_000 }], held: [], queued: [] })
  })
})
