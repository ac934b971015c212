import { expect, test } from 'vitest'
import { insertWork } from '../support/factories'
import { setUpInstance } from './instance'
import { setUpWaiters, untilWaiting } from './waiters'

const instance = await setUpInstance({ environment: { DISPATCH_MAX_WAITERS: '2' } })

test('where as many wait as may, the answer comes at once and says to stay away for a while', async () => {
  const { orchestratorId, get, post, next } = await setUpWaiters(instance)
  const waiting = [get('laptop'), get('desktop')]
  await untilWaiting(2)
  expect(await get('tablet')).toMatchObject({ queued: [], pollAfterMs: 15_000 })
  expect(await post({ machineId: 'tablet' })).toMatchObject({ queued: [], pollAfterMs: 15_000 })
  expect(await next({ machineId: 'tablet' })).toStrictEqual({ claims: [] })
  const { queueId } = await insertWork(instance.sql, { orchestratorId })
  expect(await get('tablet')).toMatchObject({ queued: [{ queueId }], pollAfterMs: 1_000 })
  await Promise.all(waiting)
})
