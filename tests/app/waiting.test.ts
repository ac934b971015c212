import { expect, onTestFinished, test } from 'vitest'
import { claimNextResponse } from '@/lib/protocol/claim'
import { pollResponse } from '@/lib/protocol/poll'
import { expectAnswer } from '../http/answers'
import { ADMIN_KEY, appEnvironment, newOrchestrator } from '../http/instance'
import { startApp } from '../support/app'
import { setUpDatabase } from '../support/db'
import { sendTo } from './served'

const database = await setUpDatabase()
const { sql } = database

async function startInstance() {
  const app = await startApp({ databaseUrl: database.url, env: appEnvironment() })
  onTestFinished(app.stop)
  return { app, send: sendTo(app.url) }
}
const enqueue = (send: ReturnType<typeof sendTo>, orchestratorId: string) =>
  send('POST', '/api/enqueue', { key: ADMIN_KEY, json: { orchestratorId, items: [{ payload: 1 }] } })

/** Resolves when a machine's wait has reached the database: it was noted as seen. */
async function untilSeen(machineId: string): Promise<void> {
  await expect
    .poll(() => sql('SELECT machine_id FROM machines WHERE machine_id = $1', [machineId]), { timeout: 20_000 })
    .toHaveLength(1)
}

test('a machine that waits at one instance is answered when work comes in at another', async () => {
  const [one, other] = [await startInstance(), await startInstance()]
  const { orchestratorId, key } = await newOrchestrator(sql)
  const waiting = one.send('POST', '/api/poll', { key, json: { orchestratorId, machineId: 'laptop', waitMs: 25_000 } })
  await untilSeen('laptop')
  await enqueue(other.send, orchestratorId)
  expect(expectAnswer(await waiting, 200, pollResponse).queued).toHaveLength(1)
})

test('a SIGTERM answers all who wait at once, and the instance ends', async () => {
  const { app, send } = await startInstance()
  const { orchestratorId, key } = await newOrchestrator(sql)
  const waiting = Array.from({ length: 20 }, (_, n) =>
    send('POST', '/api/poll', { key, json: { orchestratorId, machineId: `fleet-${n}`, waitMs: 25_000 } }),
  )
  // All have to be there before the instance takes no more connections.
  for (const n of waiting.keys()) await untilSeen(`fleet-${n}`)
  process.kill(app.pid, 'SIGTERM')
  for (const answer of await Promise.all(waiting))
    expect(expectAnswer(answer, 200, pollResponse).queued).toStrictEqual([])
  expect(await app.exited).toBe(143)
})

test('a machine that hangs up is forgotten: the next one in line gets the work', async () => {
  const { send } = await startInstance()
  const { orchestratorId, key } = await newOrchestrator(sql)
  const hangUp = new AbortController()
  const next = (machineId: string, signal?: AbortSignal) =>
    send('POST', '/api/claim/next', {
      key,
      json: { orchestratorId, machineId, waitMs: 25_000 },
      ...(signal && { signal }),
    })
  const gone = next('gone', hangUp.signal).catch(() => undefined)
  await untilSeen('gone')
  hangUp.abort()
  await gone
  const waiting = next('patient')
  await enqueue(send, orchestratorId)
  expect(expectAnswer(await waiting, 200, claimNextResponse).claims).toHaveLength(1)
  expect(await sql('SELECT claimed_by FROM dispatch_queue WHERE orchestrator_id = $1', [orchestratorId])).toStrictEqual(
    [{ claimed_by: 'patient' }],
  )
})
