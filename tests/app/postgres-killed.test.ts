import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { migrateDatabase } from '@/lib/launch/migrate'
import { superviseEmbeddedPostgres } from '@/lib/launch/postgres-supervisor'
import { readPostmasterFile } from '@/lib/launch/postmaster-file'
import { claimResponse } from '@/lib/protocol/claim'
import { expectProblem } from '../http/answers'
import { ADMIN_KEY, appEnvironment } from '../http/instance'
import { startApp } from '../support/app'
import { sendTo } from './served'

const PIECES = 160
const MACHINES = 8

async function startOwnPostgres() {
  const directory = mkdtempSync(path.join(tmpdir(), 'dispatch-killed-'))
  chmodSync(directory, 0o755)
  const cluster = path.join(directory, 'postgres')
  const postgres = await superviseEmbeddedPostgres({ directory: cluster, password: randomBytes(8).toString('hex') })
  onTestFinished(async () => {
    await postgres.stop()
    rmSync(directory, { recursive: true, force: true })
  })
  await migrateDatabase(postgres.url)
  return { url: postgres.url, kill: () => process.kill(readPostmasterFile(cluster)?.pid ?? 0, 'SIGKILL') }
}

test('kill -9 of Postgres in mid-traffic: 503 with Retry-After, then the app goes on by itself, and no work is lost', async () => {
  const postgres = await startOwnPostgres()
  const app = await startApp({ databaseUrl: postgres.url, env: appEnvironment() })
  onTestFinished(app.stop)
  const send = sendTo(app.url)
  const post = (route: string, json: object) =>
    send('POST', `/api/${route}`, { key: ADMIN_KEY, json: { orchestratorId: 'acme', ...json } })
  const items = Array.from({ length: PIECES }, (_, n) => ({ payload: n }))
  expect((await post('enqueue', { items })).status).toBe(201)

  let completed = 0
  let refused = 0
  /** Sends a call until it is answered by other than 503; no other refusal may come. */
  async function insist(route: string, json: object): Promise<unknown> {
    for (;;) {
      const answer = await post(route, json)
      if (answer.status === 200) return answer.body
      expectProblem(answer, 503, 'unavailable')
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
      refused += 1
      await sleep(20)
    }
  }
  async function work(place: number): Promise<void> {
    const machineId = `machine-${place}`
    for (let turn = 1; turn <= PIECES; turn += 1) {
      // Each machine begins elsewhere, so that all of them win some.
      const queueId = ((turn + place * Math.floor(PIECES / MACHINES)) % PIECES) + 1
      const claimToken = crypto.randomUUID()
      const { claim } = claimResponse.parse(await insist('claim', { queueId, machineId, claimToken }))
      if (claim === null) continue
      await insist('complete', { queueId, claimToken })
      completed += 1
      if (completed === PIECES / 4) postgres.kill()
    }
  }
  await Promise.all(Array.from({ length: MACHINES }, (_, place) => work(place)))

  expect(refused).toBeGreaterThan(0)
  expect(completed).toBe(PIECES)
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  const { rows } = await client.query(
    `SELECT (SELECT count(*)::int FROM dispatch_queue) AS live, count(*)::int AS done, max(attempts) AS attempts FROM dispatch_history WHERE outcome = 'completed'`,
  )
  await client.end()
  expect(rows).toStrictEqual([{ live: 0, done: PIECES, attempts: 1 }])
})
