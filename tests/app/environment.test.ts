import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { claimNextResponse, claimResponse } from '@/lib/protocol/claim'
import { pollQueryResponse } from '@/lib/protocol/poll'
import { heartbeatResponse } from '@/lib/protocol/settle'
import { expectAnswer } from '../http/answers'
import { ADMIN_KEY, appEnvironment, newOrchestrator } from '../http/instance'
import { startApp } from '../support/app'
import { setUpDatabase } from '../support/db'
import { ago, ahead, insertClaimed, insertWork, onlyRow } from '../support/factories'
import { hold, waitUntilBlocked } from '../support/gate'
import { recordStatements } from '../support/statements'
import { sendTo } from './served'

const database = await setUpDatabase()
const { sql } = database
const directory = mkdtempSync(path.join(tmpdir(), 'dispatch-environment-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

async function startWith(env: Record<string, string>) {
  const app = await startApp({ databaseUrl: database.url, env: { ...appEnvironment(), ...env } })
  onTestFinished(app.stop)
  return { app, send: sendTo(app.url) }
}

/** A module that shifts the clock of the process that loads it. */
function shiftedClock(hours: number): string {
  const file = path.join(directory, `clock-${hours}.mjs`)
  writeFileSync(
    file,
    `const shift = ${hours * 3_600_000}; const Real = Date; const now = Real.now;
     globalThis.Date = class extends Real { constructor(...args) { args.length === 0 ? super(now() + shift) : super(...args) } static now() { return now() + shift } }`,
  )
  return `--import ${pathToFileURL(file).href}`
}

describe.each([-2, 2])('with the app’s clock %i hours off', (hours) => {
  test('leases, delays, sweeps and instants are as they are with a right one', async () => {
    const { send } = await startWith({ NODE_OPTIONS: shiftedClock(hours), DISPATCH_SWEEP_INTERVAL_MS: '100' })
    const { orchestratorId, key } = await newOrchestrator(sql)
    const post = (route: string, json: object) =>
      send('POST', `/api/${route}`, { key, json: { orchestratorId, ...json } })

    const { queueId } = await insertWork(sql, { orchestratorId })
    await insertWork(sql, { orchestratorId, availableAt: ahead('1 hour') })
    const running = await insertClaimed(sql, { orchestratorId, claimExpiresAt: ahead('1 hour') })
    const { queued } = expectAnswer(
      await send('GET', `/api/poll?orchestratorId=${orchestratorId}`, { key }),
      200,
      pollQueryResponse,
    )
    expect(queued.map((row) => row.queueId)).toStrictEqual([queueId])

    const { claim } = expectAnswer(await post('claim', { queueId, claimTimeoutMs: 60_000 }), 200, claimResponse)
    expect(expectAnswer(await post('claim/next', { limit: 5 }), 200, claimNextResponse).claims).toStrictEqual([])
    const renewed = expectAnswer(
      await post('heartbeat', { queueId, claimToken: claim?.claimToken }),
      200,
      heartbeatResponse,
    )
    const [lease] = await sql(
      `SELECT claim_expires_at BETWEEN now() + interval '30 seconds' AND now() + interval '61 seconds' AS right,
              abs(extract(epoch FROM claim_expires_at - $2::timestamptz)) < 0.002 AS told
         FROM dispatch_queue WHERE id = $1`,
      [queueId, renewed.claimExpiresAt],
    )
    expect(lease).toStrictEqual({ right: true, told: true })

    const stale = await insertClaimed(sql, { orchestratorId, claimExpiresAt: ago('1 second') })
    await send('POST', '/api/sweep', { key: ADMIN_KEY })
    expect(await onlyRow(sql, stale.queueId)).toMatchObject({ claimed_at: null })
    expect((await onlyRow(sql, running.queueId)).claimed_at).not.toBeNull()
    expect((await onlyRow(sql, queueId)).claimed_at).not.toBeNull()
  })
})

test('a SIGTERM waits for the sweep that a poll has set going', async () => {
  const { app, send } = await startWith({})
  const { orchestratorId, key } = await newOrchestrator(sql)
  const { queueId } = await insertClaimed(sql, { orchestratorId, claimExpiresAt: ago('1 second') })
  await sql(
    `CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(9); RETURN NEW; END $$`,
  )
  await sql('CREATE TRIGGER wait_here BEFORE UPDATE ON dispatch_queue FOR EACH ROW EXECUTE FUNCTION wait_here()')
  const gate = await hold(database, 'SELECT pg_advisory_xact_lock(9)')
  expect((await send('GET', `/api/poll?orchestratorId=${orchestratorId}`, { key })).status).toBe(200)
  await waitUntilBlocked(database, 1)
  process.kill(app.pid, 'SIGTERM')
  await gate.release()
  // 143 is 128 and the signal's number, by which Next says how it was ended.
  expect(await app.exited).toBe(143)
  await sql('DROP FUNCTION wait_here CASCADE')
  expect(await onlyRow(sql, queueId)).toMatchObject({ claimed_at: null })
})

test('the log never holds a key, a token or a payload, whatever goes wrong', async () => {
  const { app, send } = await startWith({ DISPATCH_LOG_LEVEL: 'debug' })
  const { orchestratorId, key } = await newOrchestrator(sql)
  const secret = 'the-payload-is-private'
  const post = (route: string, json: object) =>
    send('POST', `/api/${route}`, { key, json: { orchestratorId, ...json } })
  await send('POST', '/api/enqueue', {
    key: ADMIN_KEY,
    json: { orchestratorId, items: [{ payload: { secret }, dedupeKey: secret }] },
  })
  const { claims } = expectAnswer(await post('claim/next', { machineId: 'laptop' }), 200, claimNextResponse)
  const [claimed] = claims
  await sql('ALTER TABLE dispatch_history RENAME TO away')
  const failed = await post('complete', {
    queueId: claimed?.queueId,
    claimToken: claimed?.claimToken,
    result: { secret },
  })
  expect(failed.status).toBe(500)
  expect(failed.text).not.toMatch(/dispatch_history|away|SELECT|INSERT/)
  await sql('ALTER TABLE away RENAME TO dispatch_history')
  await post('complete', { queueId: claimed?.queueId, claimToken: crypto.randomUUID(), result: { secret } })
  await send('POST', '/api/claim', { key: `${key}x`, json: { secret } })
  await send('GET', `/api/poll?key=${key}`, { key })
  expect(
    (await post('complete', { queueId: claimed?.queueId, claimToken: claimed?.claimToken, result: { secret } })).status,
  ).toBe(200)
  const log = app.output()
  expect(log).toContain('"status":500')
  for (const hidden of [key, ADMIN_KEY, secret, claimed?.claimToken ?? '']) expect(log).not.toContain(hidden)
})

test('through Neon’s driver each poll is a request of its own: Next caches none of them', async () => {
  const { DISPATCH_NEON_ENDPOINT = '' } = database.environment
  const { send } = await startWith({ DISPATCH_DB_DRIVER: 'neon', DISPATCH_NEON_ENDPOINT })
  const { orchestratorId, key } = await newOrchestrator(sql)
  const list = async () =>
    expectAnswer(await send('GET', `/api/poll?orchestratorId=${orchestratorId}`, { key }), 200, pollQueryResponse)
      .queued.length
  expect(await list()).toBe(0)
  await insertWork(sql, { orchestratorId })
  const { result, statements } = await recordStatements(database, async () => [await list(), await list()])
  expect(result).toStrictEqual([1, 1])
  expect(statements.filter((text) => /^WITH holding AS/.test(text))).toHaveLength(2)
})
