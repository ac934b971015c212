import { afterAll, beforeAll, expect, test } from 'vitest'
import { DispatchClient } from '@/lib/client/dispatch-client'
import { ADMIN_KEY, appEnvironment } from '../http/instance'
import { type RunningApp, startApp } from '../support/app'
import { setUpDatabase } from '../support/db'
import { allRows, newOrchestratorId } from '../support/factories'
import { type LossyProxy, startLossyProxy } from './lossy-proxy'

const { sql, url } = await setUpDatabase()
let app: RunningApp
let proxy: LossyProxy
let client: DispatchClient

beforeAll(async () => {
  app = await startApp({ databaseUrl: url, env: appEnvironment() })
  proxy = await startLossyProxy(app.url)
  client = new DispatchClient({ url: proxy.url, key: ADMIN_KEY })
})
afterAll(async () => {
  await proxy?.stop()
  await app?.stop()
})

async function enqueueOne() {
  const orchestratorId = newOrchestratorId()
  const { items } = await client.enqueue({ orchestratorId, items: [{ payload: { issue: 'ENG-1' } }] })
  return { orchestratorId, machineId: 'laptop', queueId: items[0]?.queueId ?? 0 }
}

async function claimOne() {
  const work = await enqueueOne()
  const claim = await client.claim(work)
  if (claim === null) throw new Error('nobody else is there')
  const { machineId: _machineId, ...named } = work
  return { work, own: { ...named, claimToken: claim.claimToken } }
}

test('an enqueue whose answer was lost twice makes one row', async () => {
  const orchestratorId = newOrchestratorId()
  proxy.loseAnswers('/api/enqueue', 2)
  const { items } = await client.enqueue({ orchestratorId, items: [{ payload: 1 }, { payload: 2 }] })
  const rows = await sql('SELECT id FROM dispatch_queue WHERE orchestrator_id = $1 ORDER BY id', [orchestratorId])
  expect(rows.map((row) => row.id)).toEqual(items.map((item) => item.queueId))
})

test('an enqueue whose work was completed before the producer tried again makes no second row', async () => {
  const orchestratorId = newOrchestratorId()
  const direct = new DispatchClient({ url: app.url, key: ADMIN_KEY })
  proxy.loseAnswers('/api/enqueue', 1, async () => {
    for (const { queueId, claimToken } of await direct.claimNext({ orchestratorId, machineId: 'desktop' })) {
      await direct.complete({ orchestratorId, queueId, claimToken })
    }
  })
  const { items } = await client.enqueue({ orchestratorId, items: [{ payload: 1 }] })
  expect(items).toEqual([{ queueId: expect.any(Number), enqueued: false }])
  expect(await sql('SELECT id FROM dispatch_queue WHERE orchestrator_id = $1', [orchestratorId])).toEqual([])
})

test('a claim whose answer was lost is repeated with its token, and counts one attempt', async () => {
  const work = await enqueueOne()
  proxy.loseAnswers('/api/claim', 2)
  const claim = await client.claim(work)
  expect(claim).toMatchObject({ queueId: work.queueId, attempts: 1, payload: { issue: 'ENG-1' } })
})

test('a claim/next whose answer was lost is not sent again, and its claim is held for the machine', async () => {
  const { queueId, ...machine } = await enqueueOne()
  proxy.loseAnswers('/api/claim/next', 1)
  const before = proxy.paths.length
  await expect(client.claimNext(machine)).rejects.toMatchObject({ code: 'unreachable', status: 0 })
  expect(proxy.paths.slice(before)).toEqual(['/api/claim/next'])
  const { held } = await client.poll(machine)
  expect(held).toMatchObject([{ queueId, attempts: 1 }])
})

test('a heartbeat whose answer was lost is repeated', async () => {
  const { own } = await claimOne()
  proxy.loseAnswers('/api/heartbeat', 2)
  await expect(client.heartbeat({ ...own, progress: 40 })).resolves.toMatchObject({ leaseMs: expect.any(Number) })
})

test('a poll whose answer was lost is repeated, and what it renews stays held', async () => {
  const { work, own } = await claimOne()
  proxy.loseAnswers('/api/poll', 2)
  const { queueId, claimToken } = own
  const answer = await client.poll({
    orchestratorId: own.orchestratorId,
    machineId: work.machineId,
    holding: [{ queueId, claimToken }],
  })
  expect(answer).toMatchObject({ renewed: [{ queueId }], lost: [], held: [] })
})

test('a complete whose answer was lost is repeated, and leaves one record', async () => {
  const { own } = await claimOne()
  proxy.loseAnswers('/api/complete', 2)
  await expect(client.complete({ ...own, result: { pullRequest: 77 } })).resolves.toEqual({ outcome: 'completed' })
  expect(await allRows(sql, own.queueId)).toMatchObject({ queue: [], history: [{ outcome: 'completed', attempts: 1 }] })
})

test.each(['fail', 'release'] as const)('a %s whose answer was lost is repeated, and counts once', async (call) => {
  const { own } = await claimOne()
  proxy.loseAnswers(`/api/${call}`, 1)
  const repeated = call === 'fail' ? client.fail({ ...own, error: 'tests failed' }) : client.release(own)
  await expect(repeated).rejects.toMatchObject({
    code: 'claim-lost',
    reason: 'released',
  })
  const { queue } = await allRows(sql, own.queueId)
  expect(queue).toMatchObject([{ attempts: call === 'fail' ? 1 : 0, attempt_log: [{}] }])
})
