import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { PermanentError, RetryLaterError } from '@/lib/client/running-claim'
import { createWorker, type Worker, type WorkerEvent, type WorkerOptions } from '@/lib/client/worker'
import { ADMIN_KEY, insertKey, setUpInstance } from '../http/instance'
import { fetchHere } from '../http/routes'
import { allRows, expireClaim, insertClaimed, insertWork, newOrchestratorId, onlyRow } from '../support/factories'

const { sql } = await setUpInstance()

const started: { worker: Worker; run: Promise<void> }[] = []
afterEach(async () => {
  for (const { worker } of started) worker.stopNow()
  await Promise.allSettled(started.splice(0).map(({ run }) => run))
})

/** A worker in this process; its requests go to the exported handlers, unless it brings a `fetch`. */
function startWorker(options: Partial<WorkerOptions> & Pick<WorkerOptions, 'orchestratorId' | 'handler'>) {
  const events: WorkerEvent[] = []
  const worker = createWorker({
    url: 'http://queue.test',
    key: ADMIN_KEY,
    machineId: 'laptop',
    leaseMs: 2_000,
    fetch: fetchHere,
    onEvent: (event) => events.push(event),
    ...options,
  })
  const run = worker.run()
  started.push({ worker, run })
  run.catch(() => {})
  return { worker, run, events }
}

/** Waits until it holds; the test's own timeout ends a wait in vain. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(20)
}

const outcomes = async (orchestratorId: string) =>
  sql(
    'SELECT outcome, attempts, claimed_by, result, last_error FROM dispatch_history WHERE orchestrator_id = $1 ORDER BY id',
    [orchestratorId],
  )

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))

test('a handler gets the payload and the attempt, and what it returns is the result', async () => {
  const { orchestratorId } = await insertWork(sql, { payload: { issue: 'ENG-142' } })
  const jobs: unknown[] = []
  const { worker, run } = startWorker({
    orchestratorId,
    handler: async ({ payload, attempt }) => {
      jobs.push({ payload, attempt })
      return { pullRequest: 77 }
    },
  })
  await until(async () => (await outcomes(orchestratorId)).length === 1)
  worker.stop()
  await run
  expect(jobs).toEqual([{ payload: { issue: 'ENG-142' }, attempt: 1 }])
  expect(await outcomes(orchestratorId)).toMatchObject([
    { outcome: 'completed', attempts: 1, result: { pullRequest: 77 } },
  ])
})

test('what a handler throws is the failure: retried, retried when it says, or final', async () => {
  const orchestratorId = newOrchestratorId()
  for (const kind of ['plain', 'later', 'permanent']) await insertWork(sql, { orchestratorId, payload: kind })
  const { events } = startWorker({
    orchestratorId,
    concurrency: 3,
    handler: async ({ payload }) => {
      if (payload === 'permanent') throw new PermanentError('no such repository')
      if (payload === 'later') throw new RetryLaterError('the forge is down', 60_000)
      throw new Error('tests failed')
    },
  })
  await until(() => events.filter(({ type }) => type === 'ended').length === 3)
  const rows = await sql(
    `SELECT payload, last_error, round(extract(epoch FROM available_at - now()) / 60) AS minutes
       FROM dispatch_queue WHERE orchestrator_id = $1 ORDER BY id`,
    [orchestratorId],
  )
  expect(rows).toMatchObject([
    { payload: 'plain', last_error: 'tests failed' },
    { payload: 'later', last_error: 'the forge is down' },
  ])
  expect(Number(rows[1]?.minutes)).toBe(1)
  expect(await outcomes(orchestratorId)).toMatchObject([{ outcome: 'failed', last_error: 'no such repository' }])
})

test('a handler that runs for many leases keeps its claim, and nobody else ever gets it', async () => {
  const { orchestratorId, queueId } = await insertWork(sql)
  let isDone = false
  const stolen: number[] = []
  const { events } = startWorker({
    orchestratorId,
    leaseMs: 1_000,
    handler: async () => {
      await sleep(3_500)
      isDone = true
    },
  })
  await until(() => events.some(({ type }) => type === 'claimed'))
  const thief = startWorker({
    orchestratorId,
    machineId: 'desktop',
    handler: async ({ queueId: id }) => stolen.push(id),
  })
  await until(async () => (await outcomes(orchestratorId)).length === 1)
  thief.worker.stop()
  expect({ isDone, stolen }).toEqual({ isDone: true, stolen: [] })
  expect(await onlyRow(sql, queueId)).toMatchObject({ outcome: 'completed', attempts: 1, claimed_by: 'laptop' })
})

test.each([
  [
    'cancelled',
    (id: number) =>
      sql(
        `WITH gone AS (DELETE FROM dispatch_queue WHERE id = $1 RETURNING *) INSERT INTO dispatch_history (id, orchestrator_id, payload, outcome, claim_token) SELECT id, orchestrator_id, payload, 'cancelled', claim_token FROM gone`,
        [id],
      ),
  ],
  [
    'reclaimed',
    (id: number) =>
      sql(`UPDATE dispatch_queue SET claim_token = gen_random_uuid(), claimed_by = 'desktop' WHERE id = $1`, [id]),
  ],
  [
    'released',
    (id: number) =>
      sql(
        `UPDATE dispatch_queue SET claimed_at = NULL, claim_token = NULL, claim_expires_at = NULL, available_at = now() + interval '1 hour' WHERE id = $1`,
        [id],
      ),
  ],
] as const)('a claim that is %s aborts its handler, and nothing more is said about it', async (reason, take) => {
  const { orchestratorId, queueId } = await insertWork(sql)
  const reasons: unknown[] = []
  const { events } = startWorker({
    orchestratorId,
    leaseMs: 1_000,
    handler: async ({ signal }) => {
      await untilAborted(signal)
      reasons.push(signal.reason)
    },
  })
  await until(() => events.some(({ type }) => type === 'claimed'))
  await take(queueId)
  const before = await allRows(sql, queueId)
  await until(() => events.some(({ type }) => type === 'ended'))
  expect(reasons).toEqual([reason])
  expect(events.at(-1)).toMatchObject({ type: 'ended', queueId, end: { how: 'lost', reason } })
  expect(await allRows(sql, queueId)).toEqual(before)
})

test('what this machine held before it crashed is resumed under a new token, counting no attempt', async () => {
  const { orchestratorId, queueId, claimToken } = await insertClaimed(sql, { claimedBy: 'laptop', attempts: 1 })
  const { events } = startWorker({ orchestratorId, handler: async () => 'done' })
  await until(async () => (await outcomes(orchestratorId)).length === 1)
  expect(events[0]).toMatchObject({ type: 'claimed', queueId, isResumed: true, attempts: 1 })
  const row = await onlyRow(sql, queueId)
  expect(row).toMatchObject({ outcome: 'completed', attempts: 1 })
  expect(row.claim_token).not.toBe(claimToken)
})

test('with held: release, what this machine held before is given back for anyone', async () => {
  const { orchestratorId, queueId } = await insertClaimed(sql, { claimedBy: 'laptop', attempts: 1 })
  startWorker({ orchestratorId, held: 'release', handler: async () => 'done' })
  await until(async () => (await outcomes(orchestratorId)).length === 1)
  expect(await onlyRow(sql, queueId)).toMatchObject({
    attempts: 1,
    attempt_log: [{ how: 'released' }, { how: 'completed' }],
  })
})

test('a worker that stops claims nothing more, and lets what runs finish', async () => {
  const orchestratorId = newOrchestratorId()
  const works = [await insertWork(sql, { orchestratorId }), await insertWork(sql, { orchestratorId })]
  // Which of the two it takes first hangs on a hash of its name and their ids.
  const handled: number[] = []
  const { worker, run } = startWorker({
    orchestratorId,
    handler: async ({ queueId }) => {
      handled.push(queueId)
      await sleep(500)
    },
  })
  await until(() => handled.length > 0)
  worker.stop()
  await run
  expect(handled).toHaveLength(1)
  for (const { queueId } of works)
    expect(await onlyRow(sql, queueId)).toMatchObject(
      handled.includes(queueId) ? { outcome: 'completed' } : { attempts: 0, claimed_at: null },
    )
})

test('what has not finished within the grace time is given back at once, and its attempt does not count', async () => {
  const { orchestratorId, queueId } = await insertWork(sql)
  const { worker, run, events } = startWorker({
    orchestratorId,
    graceMs: 50,
    handler: ({ signal }) => untilAborted(signal),
  })
  await until(() => events.some(({ type }) => type === 'claimed'))
  worker.stop()
  await run
  expect(await onlyRow(sql, queueId)).toMatchObject({ attempts: 0, claimed_at: null, claim_token: null })
})

test('a worker whose key is revoked stops with the refusal', async () => {
  const orchestratorId = newOrchestratorId()
  const key = await insertKey(sql, 'orchestrator', { orchestratorId, isRevoked: true })
  const { run } = startWorker({ orchestratorId, key, handler: async () => {} })
  await expect(run).rejects.toMatchObject({ name: 'DispatchError', status: 401 })
})

test('a server that is out of reach for longer than the lease costs the handler its claim, by this machine’s own clock', async () => {
  const { orchestratorId } = await insertWork(sql)
  let isReachable = true
  const reasons: unknown[] = []
  const { events } = startWorker({
    orchestratorId,
    leaseMs: 1_000,
    retries: 0,
    fetch: (url, init) => (isReachable ? fetchHere(url, init) : Promise.reject(new TypeError('fetch failed'))),
    handler: async ({ signal }) => {
      isReachable = false
      await untilAborted(signal)
      reasons.push(signal.reason)
    },
  })
  await until(() => events.some(({ type }) => type === 'ended'))
  isReachable = true
  expect(reasons).toEqual(['lease-expired'])
})

test('a lease that ran out unseen is asked about before the handler goes on: it keeps the claim if nobody took it', async () => {
  const { orchestratorId, queueId } = await insertWork(sql)
  const { events } = startWorker({ orchestratorId, leaseMs: 1_000, handler: () => sleep(1_500) })
  await until(() => events.some(({ type }) => type === 'claimed'))
  await expireClaim(sql, queueId)
  await until(() => events.some(({ type }) => type === 'ended'))
  expect(await onlyRow(sql, queueId)).toMatchObject({ outcome: 'completed', attempts: 1 })
})

test('progress and its note reach the row while the handler runs', async () => {
  const { orchestratorId, queueId } = await insertWork(sql)
  let finish = () => {}
  startWorker({
    orchestratorId,
    handler: ({ heartbeat }) => {
      heartbeat(40, 'running tests')
      return new Promise<void>((resolve) => {
        finish = resolve
      })
    },
  })
  await until(async () => (await onlyRow(sql, queueId)).progress === 40)
  expect(await onlyRow(sql, queueId)).toMatchObject({ progress: 40, progress_note: 'running tests' })
  finish()
})

test('a result that is refused becomes a failure, and the claim does not run out', async () => {
  const { orchestratorId, queueId } = await insertWork(sql)
  startWorker({ orchestratorId, handler: async () => 'x'.repeat(300_000) })
  await until(async () => (await outcomes(orchestratorId)).length === 1)
  const { outcome, last_error } = await onlyRow(sql, queueId)
  expect({ outcome, last_error }).toEqual({ outcome: 'failed', last_error: expect.stringContaining('262144') })
})

test('twenty machines that start together claim twenty rows, each exactly once', async () => {
  const orchestratorId = newOrchestratorId()
  for (let n = 0; n < 20; n += 1) await insertWork(sql, { orchestratorId, payload: n })
  const done: unknown[] = []
  for (let n = 0; n < 20; n += 1) {
    startWorker({ orchestratorId, machineId: `machine-${n}`, handler: async ({ payload }) => done.push(payload) })
  }
  await until(async () => (await outcomes(orchestratorId)).length === 20)
  expect(done.toSorted((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 20 }, (_, n) => n))
  expect((await outcomes(orchestratorId)).map((row) => row.attempts)).toEqual(Array(20).fill(1))
})

test.each([409, 404, 422])('a server that answers %i to every claim is not asked in a tight loop', async (status) => {
  const { orchestratorId } = await insertWork(sql)
  let claims = 0
  const { events } = startWorker({
    orchestratorId,
    handler: async () => {},
    fetch: (url, init) => {
      if (!String(url).endsWith('/api/claim')) return fetchHere(url, init)
      claims += 1
      return Promise.resolve(Response.json({}, { status }))
    },
  })
  await sleep(3_000)
  expect(events.filter(({ type }) => type === 'disturbed').length).toBe(claims)
  expect(claims).toBeGreaterThan(0)
  expect(claims).toBeLessThan(8)
})
