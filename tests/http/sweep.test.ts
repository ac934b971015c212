import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { log } from '@/lib/instance/log'
import { sweepResponse } from '@/lib/protocol/service'
import { ago, expireClaim, insertClaimed, insertFinished, insertWork, onlyRow } from '../support/factories'
import { holdRow, waitUntilBlocked } from '../support/gate'
import { recordStatements } from '../support/statements'
import { expectAnswer, expectProblem } from './answers'
import { ADMIN_KEY, CRON_SECRET, newOrchestrator, setUpInstance } from './instance'

const { database, sql, send } = await setUpInstance()
const INTERVAL_MS = 15_000
const RETRY_MS = 5_000

const now = performance.now.bind(performance)
let ahead = 0
vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead)

/** Moves the monotonic clock, by which the sweep is throttled, for the rest of this file: it never goes back. */
function letTimePass(ms: number): void {
  ahead += ms
}

const isVercelContext = Symbol.for('@vercel/request-context')

/** Makes this process look like a function on Vercel, and collects what it has to keep running past its responses. */
function enterVercel(): Promise<unknown>[] {
  const kept: Promise<unknown>[] = []
  const context = { get: () => ({ waitUntil: (promise: Promise<unknown>) => kept.push(promise) }) }
  Reflect.set(globalThis, isVercelContext, context)
  onTestFinished(() => void Reflect.deleteProperty(globalThis, isVercelContext))
  return kept
}

/** Resolves when all that a poll has set going is over. */
const settled = (kept: Promise<unknown>[]) => Promise.all(kept)

async function setUpPoller() {
  const { orchestratorId, key } = await newOrchestrator(sql)
  return { orchestratorId, poll: () => send('GET', `/api/poll?orchestratorId=${orchestratorId}`, { key }) }
}

const swept = (statements: string[]) => statements.filter((text) => /WITH stale AS/.test(text)).length

beforeEach(() => letTimePass(INTERVAL_MS))

describe('a poll', () => {
  test('frees what a dead machine has claimed, past its response', async () => {
    const kept = enterVercel()
    const { orchestratorId, poll } = await setUpPoller()
    const { queueId } = await insertClaimed(sql, { orchestratorId, claimExpiresAt: ago('1 second') })
    expect((await poll()).status).toBe(200)
    await settled(kept)
    expect(await onlyRow(sql, queueId)).toMatchObject({ claimed_at: null })
  })

  test('answers while its sweep still runs, and the promise that the platform keeps is that sweep', async () => {
    const kept = enterVercel()
    const { orchestratorId, poll } = await setUpPoller()
    const { queueId } = await insertClaimed(sql, { orchestratorId, claimExpiresAt: ago('1 second') })
    await sql(
      `CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$`,
    )
    await sql('CREATE TRIGGER wait_here BEFORE UPDATE ON dispatch_queue FOR EACH ROW EXECUTE FUNCTION wait_here()')
    const gate = await holdRow(database, (await insertWork(sql)).queueId)
    await gate.run('SELECT pg_advisory_xact_lock(7)')
    expect((await poll()).status).toBe(200)
    await waitUntilBlocked(database, 1)
    expect(await onlyRow(sql, queueId)).not.toMatchObject({ claimed_at: null })
    await gate.release()
    await settled(kept)
    expect(await onlyRow(sql, queueId)).toMatchObject({ claimed_at: null })
    await sql('DROP FUNCTION wait_here CASCADE')
  })

  test('sweeps at most once an interval, counted from the last start, and two at one instant start one', async () => {
    const kept = enterVercel()
    const { poll } = await setUpPoller()
    const sweeps = async (polls: number) => {
      const { statements } = await recordStatements(database, async () => {
        await Promise.all(Array.from({ length: polls }, poll))
        await settled(kept)
      })
      return swept(statements)
    }
    expect(await sweeps(10)).toBe(1)
    letTimePass(INTERVAL_MS - 2_000)
    expect(await sweeps(3)).toBe(0)
    letTimePass(2_000)
    expect(await sweeps(3)).toBe(1)
  })

  test('is answered though the sweep fails: that is logged once, and tried again within five seconds', async () => {
    const kept = enterVercel()
    const { poll } = await setUpPoller()
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const logged = vi.spyOn(log(), 'error')
    onTestFinished(() => logged.mockRestore())

    await sql('ALTER TABLE dispatch_history RENAME TO away')
    const statuses = [(await poll()).status, (await poll()).status]
    await settled(kept)
    await sql('ALTER TABLE away RENAME TO dispatch_history')
    expect(statuses).toStrictEqual([200, 200])
    expect(logged.mock.calls.map(([, message]) => message)).toStrictEqual(['the sweep failed; it is tried again soon'])
    expect(unhandled).toStrictEqual([])

    const { queueId } = await insertClaimed(sql, { claimExpiresAt: ago('1 second') })
    letTimePass(RETRY_MS)
    await poll()
    await settled(kept)
    expect(await onlyRow(sql, queueId)).toMatchObject({ claimed_at: null })
  })

  test('sweeps outside of any platform, too', async () => {
    const { poll } = await setUpPoller()
    const { queueId } = await insertClaimed(sql)
    await expireClaim(sql, queueId)
    expect((await poll()).status).toBe(200)
    await vi.waitFor(async () => expect(await onlyRow(sql, queueId)).toMatchObject({ claimed_at: null }), 10_000)
  })
})

describe.each([
  ['GET /api/cron/sweep', () => send('GET', '/api/cron/sweep', { key: CRON_SECRET })],
  ['POST /api/sweep', () => send('POST', '/api/sweep', { key: ADMIN_KEY })],
])('%s', (_name, call) => {
  test('200 sweeps until nothing is stale, in batches, then prunes, and says what it did', async () => {
    await sql(
      `INSERT INTO dispatch_queue (orchestrator_id, payload, claimed_at, claim_token, lease_ms, claim_expires_at, attempts, max_attempts)
       SELECT 'acme', '1', now(), gen_random_uuid(), 1000, now() - interval '1 second', 1, n % 2 + 1 FROM generate_series(1, 1200) AS n`,
    )
    await insertFinished(sql, { finishedAt: ago('8 days') })
    const answer = expectAnswer(await call(), 200, sweepResponse)
    expect(answer).toStrictEqual({ released: 600, failed: 600, unsweepable: 0, pruned: 1, more: false })
    expect(expectAnswer(await call(), 200, sweepResponse)).toStrictEqual({
      released: 0,
      failed: 0,
      unsweepable: 0,
      pruned: 0,
      more: false,
    })
  })

  test('200 for two at once: each row is swept once', async () => {
    for (let n = 0; n < 50; n += 1) await insertClaimed(sql, { claimExpiresAt: ago('1 second') })
    const answers = (await Promise.all([call(), call()])).map((answer) => expectAnswer(answer, 200, sweepResponse))
    expect(answers.reduce((sum, { released }) => sum + released, 0)).toBe(50)
  })
})

test('401 on HEAD /api/cron/sweep without the secret, and nothing is swept', async () => {
  const { queueId } = await insertClaimed(sql, { claimExpiresAt: ago('1 second') })
  expectProblem(await send('HEAD', '/api/cron/sweep'), 401, 'unauthorized')
  expectProblem(await send('GET', '/api/cron/sweep', { key: ADMIN_KEY }), 401, 'unauthorized')
  expect((await onlyRow(sql, queueId)).claimed_at).not.toBeNull()
})
