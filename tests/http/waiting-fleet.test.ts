import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { recordStatements } from '../support/statements'
import { ADMIN_KEY, setUpInstance } from './instance'
import { setUpWaiters, untilWaiting } from './waiters'

const instance = await setUpInstance({ environment: { DISPATCH_POOL_SIZE: '4' } })
const { database, sql, send } = instance
const SECONDS = 8

test('a thousand machines that wait cost at most two statements a second, last seen included, and one enqueue wakes exactly one', async () => {
  const { orchestratorId, post } = await setUpWaiters(instance)
  let answered = 0
  const over = new AbortController()
  const start = async (n: number) => {
    const answer = await post({ machineId: `machine-${n}` }, over.signal)
    answered += 1
    return answer
  }
  // The queue is known to be empty by the time the others come: they wait without a look.
  const fleet = [start(0)]
  await untilWaiting(1)
  await sleep(1_100)
  for (let n = 1; n < 1_000; n += 1) fleet.push(start(n))
  await untilWaiting(1_000)
  await sleep(1_100)
  const { statements } = await recordStatements(database, () => sleep(SECONDS * 1_000))
  expect(statements.length).toBeLessThanOrEqual(2 * SECONDS)
  expect(answered).toBe(0)
  const seen = await sql<{ count: number }>('SELECT count(*)::int FROM machines WHERE orchestrator_id = $1', [
    orchestratorId,
  ])
  expect(seen).toStrictEqual([{ count: 1_000 }])

  await send('POST', '/api/enqueue', { key: ADMIN_KEY, json: { orchestratorId, items: [{ payload: 1 }] } })
  const first = await Promise.race(fleet)
  expect(first.queued).toHaveLength(1)
  expect(answered).toBe(1)
  await untilWaiting(999)
  over.abort()
  await Promise.allSettled(fleet)
})

test('waiting holds no connection: with four of them fifty wait, and every other call goes on', async () => {
  const { orchestratorId, get } = await setUpWaiters(instance)
  const fleet = [get('machine-0')]
  await untilWaiting(1)
  await sleep(1_100)
  for (let n = 1; n < 50; n += 1) fleet.push(get(`machine-${n}`))
  await untilWaiting(50)
  const items = Array.from({ length: 50 }, () => ({ payload: 1 }))
  const answer = await send('POST', '/api/enqueue', { key: ADMIN_KEY, json: { orchestratorId, items } })
  expect(answer.status).toBe(201)
  for (const { queued } of await Promise.all(fleet)) expect(queued.length).toBeGreaterThan(0)
})
