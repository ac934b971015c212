import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { appEnvironment, newOrchestrator } from '../http/instance'
import { startApp } from '../support/app'
import { setUpDatabase } from '../support/db'
import { home, script, startWork } from './dispatch'

const LEASE_MS = 3_000
const SWEEP_MS = 500
const AWAY_MS = 30_000

const database = await setUpDatabase()
const { sql } = database
const settings = { databaseUrl: database.url, env: { ...appEnvironment(), DISPATCH_SWEEP_INTERVAL_MS: `${SWEEP_MS}` } }
let app = await startApp(settings)
afterAll(() => app.stop())

async function setUpFleet(pieces: number) {
  const { orchestratorId, key } = await newOrchestrator(sql)
  await sql(
    `INSERT INTO dispatch_queue (orchestrator_id, payload, max_attempts) SELECT $1, to_jsonb(n), 10 FROM generate_series(1, $2::int) AS n`,
    [orchestratorId, pieces],
  )
  const env = { DISPATCH_URL: app.url, DISPATCH_KEY: key, XDG_CONFIG_HOME: path.join(home, orchestratorId) }
  const start = (machine: string, concurrency: number, command: string) =>
    startWork(
      [
        '--orchestrator',
        orchestratorId,
        '--machine',
        machine,
        '--concurrency',
        `${concurrency}`,
        '--lease',
        `${LEASE_MS}ms`,
        '--',
        command,
      ],
      { env },
    )
  const completed = async () =>
    (
      await sql<{ n: number }>(
        `SELECT count(*)::int AS n FROM dispatch_history WHERE orchestrator_id = $1 AND outcome = 'completed'`,
        [orchestratorId],
      )
    )[0]?.n ?? 0
  const untilCompleted = (count: number) =>
    expect.poll(completed, { timeout: 110_000, interval: 20 }).toBeGreaterThanOrEqual(count)
  return { orchestratorId, start, completed, untilCompleted }
}

test('of two machines with two hundred pieces of work one is killed: each piece is completed exactly once, and what was abandoned is taken over in time', async () => {
  const PIECES = 200
  const { orchestratorId, start, untilCompleted } = await setUpFleet(PIECES)
  const work = script('sleep 0.2; echo 1')
  const [laptop] = [start('laptop', 4, work), start('desktop', 4, work)]
  await untilCompleted(20 + Math.floor(Math.random() * 100))
  laptop.signal('SIGKILL')
  await untilCompleted(PIECES)

  const [all] = await sql(
    `SELECT count(*)::int AS pieces, count(DISTINCT id)::int AS ids, (SELECT count(*)::int FROM dispatch_queue WHERE orchestrator_id = $1) AS live,
            max((SELECT count(*) FROM jsonb_array_elements(attempt_log) AS entry WHERE entry ->> 'how' = 'completed'))::int AS completions
       FROM dispatch_history WHERE orchestrator_id = $1 AND outcome = 'completed'`,
    [orchestratorId],
  )
  expect(all).toStrictEqual({ pieces: PIECES, ids: PIECES, live: 0, completions: 1 })
  const abandoned = await sql<{ by: string; ms: number }>(
    `SELECT claimed_by AS by, extract(epoch FROM (attempt_log -> 0 ->> 'endedAt')::timestamptz - (attempt_log -> 0 ->> 'claimedAt')::timestamptz)::float8 * 1000 AS ms
       FROM dispatch_history WHERE orchestrator_id = $1 AND attempt_log -> 0 ->> 'how' = 'expired'`,
    [orchestratorId],
  )
  expect(abandoned.length).toBeGreaterThan(0)
  for (const { by, ms } of abandoned) {
    expect(by).toBe('desktop')
    // A claim may have been renewed once before its machine died; polls come every 5 s at the latest.
    expect(ms).toBeLessThan(2 * LEASE_MS + SWEEP_MS + 5_000)
  }
})

test('a server that is away for half a minute under running machines: they go on, and nothing is lost or done twice', async () => {
  const PIECES = 30
  const { orchestratorId, start, completed, untilCompleted } = await setUpFleet(PIECES)
  const work = script('sleep 0.5; echo 1')
  const machines = [start('laptop', 2, work), start('desktop', 2, work)]
  await untilCompleted(5)
  const { port } = app
  await app.stop()
  await sleep(AWAY_MS)
  app = await startApp({ ...settings, port })
  await untilCompleted(PIECES)
  expect(await completed()).toBe(PIECES)
  const [row] = await sql(
    `SELECT count(*)::int AS twice FROM dispatch_history
      WHERE orchestrator_id = $1 AND jsonb_array_length(jsonb_path_query_array(attempt_log, '$[*] ? (@.how == "completed")')) <> 1`,
    [orchestratorId],
  )
  expect(row).toStrictEqual({ twice: 0 })
  for (const { stderr } of machines) expect(stderr()).toBe('')
})
