import { DispatchClient } from '@/lib/client/dispatch-client'
import { DispatchError } from '@/lib/client/dispatch-error'
import { sleep } from '@/lib/client/sleep'
import { check } from '@/lib/prove/check'
import { faultyFetch, noFaults } from '@/lib/prove/faults'
import type { FinalWork, Violation } from '@/lib/prove/history'
import { liveAsMachine } from '@/lib/prove/machine'
import { Recorder } from '@/lib/prove/recorder'

export interface FleetOptions {
  url: string
  /** Good for everything: an admin key. */
  key: string
  machines: number
  items: number
  /** The fleet is stopped after so long, finished or not. */
  limitMs: number
  leaseMs: number
  faults: ReadonlySet<string>
  /** The work comes in over so long, evenly; at once unless told. */
  spreadMs?: number
  /** Ends the fleet early. */
  stopping?: AbortSignal
  /** Does something to the servers while the fleet runs, until the signal aborts and all is well again. @returns what, and how often */
  disturb?: (signal: AbortSignal) => Promise<Record<string, number>>
  fetch?: typeof fetch
  /** Told about once a second how many pieces of work have come to an end. */
  onProgress?: (done: number) => void
}

export interface FleetResult {
  violations: Violation[]
  works: readonly FinalWork[]
  recorder: Recorder
  /** How often each fault was injected. */
  faults: Record<string, number>
  tookMs: number
}

const MIN_WAIT_MS = 500
/** A large fleet waits longer, so that its idle polls are some 200 a second whatever its size. */
const WAIT_MS_PER_MACHINE = 5
const ENQUEUE_BATCH = 500
const PRIORITIES = 5
/** Every so many machines there is one whose clock goes wrong, by so much in turn. */
const WRONG_CLOCK_EVERY = 10
const CLOCK_ERRORS_MS = [3 * 3_600_000, -5 * 3_600_000]
/** What one machine by itself takes, to see the order of it. */
const ORDERED_ITEMS = 60
/** So many that hardly anything fails for good: what is to be seen is who gets the work, again and again. */
const MAX_ATTEMPTS = 100
const READERS = 16

/**
 * Runs a fleet of misbehaving machines against a server, in an orchestrator of its own, and decides whether the queue kept its
 * promises. What is live in the end is cancelled.
 */
export async function runFleet(options: FleetOptions): Promise<FleetResult> {
  const orchestratorId = `prove-${crypto.randomUUID()}`
  const recorder = new Recorder()
  const counts = noFaults()
  const plain = { url: options.url, key: options.key, retries: 8, ...(options.fetch && { fetch: options.fetch }) }
  const judge = new DispatchClient(plain)
  const client = new DispatchClient({ ...plain, fetch: faultyFetch(options.faults, counts, { send: options.fetch }) })
  const startedAt = performance.now()
  // One for each, or the listeners of all would hang on one. Not put together by AbortSignal.any: on Node 20 such a signal may be
  // collected before it fires.
  const ends: AbortController[] = []
  const untilStopped = () => {
    const end = new AbortController()
    ends.push(end)
    return end.signal
  }
  const over = untilStopped()
  const stop = () => {
    for (const end of ends) end.abort()
  }
  const limit = setTimeout(stop, options.limitMs)
  options.stopping?.addEventListener('abort', stop)
  const ordered = `${orchestratorId}-order`
  await takeInOrder(judge, ordered, recorder, over)
  const machines = Array.from({ length: options.machines }, (_, n) =>
    liveAsMachine({
      client,
      orchestratorId,
      machineId: `machine-${n}`,
      leaseMs: options.leaseMs,
      waitMs: Math.max(MIN_WAIT_MS, options.machines * WAIT_MS_PER_MACHINE),
      faults: options.faults,
      counts,
      recorder,
      clockErrorMs: n % WRONG_CLOCK_EVERY === 0 ? (CLOCK_ERRORS_MS[(n / WRONG_CLOCK_EVERY) % 2] ?? 0) : 0,
      signal: untilStopped(),
    }),
  )
  const disturbed = options.disturb?.(over)
  const queueIds = await enqueueAll(client, orchestratorId, options.items, recorder, over, options.spreadMs)
  await untilDone(recorder.completed, queueIds, over, options.onProgress)
  stop()
  clearTimeout(limit)
  options.stopping?.removeEventListener('abort', stop)
  const [serverFaults] = await Promise.all([disturbed, ...machines])
  const tookMs = performance.now() - startedAt
  const works: FinalWork[] = []
  for (const id of [orchestratorId, ordered]) {
    await cancelLive(judge, id)
    works.push(...(await readAll(judge, id)))
  }
  return { violations: check(recorder.history, works), works, recorder, faults: { ...counts, ...serverFaults }, tookMs }
}

async function enqueueAll(
  client: DispatchClient,
  orchestratorId: string,
  count: number,
  recorder: Recorder,
  over: AbortSignal,
  spreadMs = 0,
): Promise<number[]> {
  const queueIds: number[] = []
  const startedAt = performance.now()
  for (let from = 0; from < count && !over.aborted; from += ENQUEUE_BATCH) {
    const items = Array.from({ length: Math.min(ENQUEUE_BATCH, count - from) }, (_, n) => ({
      payload: { number: from + n },
      priority: Math.floor(Math.random() * PRIORITIES),
      maxAttempts: MAX_ATTEMPTS,
      enqueueId: crypto.randomUUID(),
    }))
    const answer = await insist(() => recorder.enqueue(() => client.enqueue({ orchestratorId, items })), over)
    if (answer === undefined) break
    queueIds.push(...answer.items.map(({ queueId }) => queueId))
    await sleep(startedAt + (spreadMs * queueIds.length) / count - performance.now(), over)
  }
  return queueIds
}

/** One machine by itself takes work of mixed priorities, in calls of mixed size. */
async function takeInOrder(
  client: DispatchClient,
  orchestratorId: string,
  recorder: Recorder,
  over: AbortSignal,
): Promise<void> {
  await enqueueAll(client, orchestratorId, ORDERED_ITEMS, recorder, over)
  const own = { machineId: 'machine-alone', isAlone: true }
  for (let limit = 1; ; limit = (limit % 7) + 1) {
    const { machineId } = own
    const taken = await recorder.next({ ...own, limit }, () => client.claimNext({ orchestratorId, machineId, limit }))
    if (taken.length === 0) return
    for (const { queueId, token } of taken) {
      const call = { orchestratorId, queueId, claimToken: token }
      await recorder.settlement('completed', { machineId, queueId, token }, () => client.complete(call))
    }
  }
}

/** Sends what is safe to send again until it is answered. @returns undefined when all was over before */
async function insist<T>(call: () => Promise<T>, over: AbortSignal): Promise<T | undefined> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof DispatchError) || !error.isTransient) throw error
      if (over.aborted) return undefined
      await sleep(500, over)
    }
  }
}

async function untilDone(
  completed: ReadonlySet<number>,
  queueIds: readonly number[],
  over: AbortSignal,
  onProgress?: (done: number) => void,
): Promise<void> {
  while (!over.aborted) {
    const done = queueIds.filter((queueId) => completed.has(queueId)).length
    onProgress?.(done)
    if (done >= queueIds.length) return
    await sleep(1_000, over)
  }
}

async function cancelLive(judge: DispatchClient, orchestratorId: string): Promise<void> {
  for (const state of ['queued', 'scheduled', 'claimed', 'stale'] as const) {
    for (;;) {
      const { items } = await judge.listWork({ orchestratorId, state, limit: 100 })
      if (items.length === 0) break
      await Promise.all(items.map(({ queueId }) => judge.cancelWork(queueId).catch(ignoreRefusal)))
    }
  }
}

/** A claim may have become stale, or been swept, between the list and the cancel. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof DispatchError)) throw error
}

async function readAll(judge: DispatchClient, orchestratorId: string): Promise<FinalWork[]> {
  const ids: number[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Awaited<ReturnType<DispatchClient['listWork']>> = await judge.listWork({
      orchestratorId,
      cursor,
      limit: 100,
    })
    ids.push(...page.items.map(({ queueId }) => queueId))
    cursor = page.nextCursor
  }
  const works: FinalWork[] = []
  const next = ids.values()
  await Promise.all(
    Array.from({ length: READERS }, async () => {
      for (const queueId of next) works.push(await judge.showWork(queueId))
    }),
  )
  return works
}
