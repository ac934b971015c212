import { DispatchClient } from '@/lib/client/dispatch-client'
import { DispatchError } from '@/lib/client/dispatch-error'
import { type AbortReason, type ClaimEnd, type Claimed, type Handler, RunningClaim } from '@/lib/client/running-claim'
import { backoffMs, sleep } from '@/lib/client/sleep'
import type { TransportOptions } from '@/lib/client/transport'

export interface WorkerOptions extends TransportOptions {
  orchestratorId: string
  /** Names this running worker: stable across its restarts, never shared by two at once. */
  machineId: string
  handler: Handler
  /** How many claims run at once. 1 unless given. */
  concurrency?: number
  /** The lease of each claim in milliseconds, renewed at a third. 120,000 unless given: a dead machine costs two minutes. */
  leaseMs?: number
  /** What to do with claims that this machine still holds from before: go on with them (the default) or give them back. */
  held?: 'resume' | 'release'
  /** How long a poll may wait on the server for work, in milliseconds. 25,000 unless given, which is the most. */
  waitMs?: number
  /** How long running handlers get to finish once the worker is told to stop, in milliseconds. 30,000 unless given. */
  graceMs?: number
  onEvent?: (event: WorkerEvent) => void
}

export type WorkerEvent =
  | { type: 'claimed'; queueId: number; attempts: number; isResumed: boolean }
  | { type: 'progress'; queueId: number; progress: number | undefined; note: string | undefined }
  | { type: 'lost'; queueId: number; reason: AbortReason }
  | { type: 'ended'; queueId: number; end: ClaimEnd }
  /** A poll has brought nothing, and nothing runs. */
  | { type: 'idle' }
  /** It was told to stop, and waits for what runs. */
  | { type: 'stopping'; running: number }
  | { type: 'disturbed'; error: DispatchError; retryInMs: number }

type PollAnswer = Awaited<ReturnType<DispatchClient['poll']>>

const DEFAULT_LEASE_MS = 120_000
const DEFAULT_GRACE_MS = 30_000
const MAX_WAIT_MS = 25_000
const BACKOFF = { baseMs: 500, capMs: 60_000 }
/** Ids beyond the free places, so that a lost race is followed by the next id at once. */
const SPARE_IDS = 10
/** A poll that took this long has waited on the server; the next one need not wait here as well. */
const WAITED_MS = 1_000

/** Refusals that no later try mends. */
const isFatal = (error: DispatchError) => error.status === 401 || error.status === 403

/** Makes a worker; {@link Worker.run} starts it. */
export function createWorker(options: WorkerOptions): Worker {
  return new Worker(options)
}

/**
 * Polls, claims, runs the handler, renews, settles. One call a round renews every claim and brings new work.
 *
 * `run()` works until `stop()`; it rejects only with the refusal of a key (401, 403), when no later try can succeed.
 */
export class Worker {
  readonly client: DispatchClient
  readonly #options: WorkerOptions & { concurrency: number; leaseMs: number }
  readonly #running = new Map<number, RunningClaim>()
  /** Claim calls in flight; their rows are never taken from `held`. */
  readonly #claiming = new Set<number>()
  readonly #ends = new Set<Promise<void>>()
  /** Aborts to cut the present poll or pause short. */
  #interrupt = new AbortController()
  /** Aborts to cut the present pause short. A poll under way is left alone: it brings work for the free places of its own accord. */
  #wake = new AbortController()
  #isStopping = false
  /** Aborts when all is over, so that no timer keeps the process. */
  readonly #over = new AbortController()
  /** Rounds or claims in a row that were refused or got no answer. */
  #failures = 0

  constructor(options: WorkerOptions) {
    this.client = new DispatchClient(options)
    this.#options = { ...options, concurrency: options.concurrency ?? 1, leaseMs: options.leaseMs ?? DEFAULT_LEASE_MS }
  }

  /** Works until it is stopped and everything that ran has ended and been told to the server. */
  async run(): Promise<void> {
    const watch = setInterval(() => this.#watchLeases(), Math.min(1_000, this.#options.leaseMs / 6))
    try {
      while (!this.#isDone) {
        this.#interrupt = new AbortController()
        this.#wake = new AbortController()
        const pauseMs = await this.#round()
        if (!this.#isDone) await sleep(pauseMs, AbortSignal.any([this.#interrupt.signal, this.#wake.signal]))
      }
    } finally {
      this.stopNow()
      await Promise.all(this.#ends)
      clearInterval(watch)
      this.#over.abort()
    }
  }

  /** Claims nothing more. Handlers that run get the grace time, then are aborted and their claims given back. */
  stop(): void {
    if (!this.#isStopping) this.#options.onEvent?.({ type: 'stopping', running: this.#running.size })
    this.#isStopping = true
    this.#interrupt.abort()
    void sleep(this.#options.graceMs ?? DEFAULT_GRACE_MS, this.#over.signal).then(() => this.stopNow())
  }

  /** {@link stop} without the grace time. */
  stopNow(): void {
    this.#isStopping = true
    for (const claim of this.#running.values()) claim.abort('stopping')
    this.#interrupt.abort()
  }

  get #isDone(): boolean {
    return this.#isStopping && this.#running.size === 0 && this.#claiming.size === 0
  }

  get #free(): number {
    return this.#isStopping ? 0 : this.#options.concurrency - this.#running.size - this.#claiming.size
  }

  /** @returns how long to wait before the next round, in milliseconds */
  async #round(): Promise<number> {
    const askedAt = performance.now()
    try {
      const answer = await this.#poll()
      this.#noteRenewals(answer, askedAt)
      const hasWaited = performance.now() - askedAt >= WAITED_MS
      const isBusy = await this.#takeWork(answer)
      if (this.#running.size + this.#claiming.size === 0 && !this.#isStopping) this.#options.onEvent?.({ type: 'idle' })
      if (isBusy || this.#free === 0) return this.#untilRenewalMs()
      if (this.#failures > 0) return this.#failureMs()
      return hasWaited ? 0 : answer.pollAfterMs * (0.2 + 0.8 * Math.random())
    } catch (error) {
      if (!(error instanceof DispatchError)) throw error
      if (error.code === 'aborted') return 0
      if (isFatal(error)) throw error
      return this.#disturbed(error)
    }
  }

  #poll(): Promise<PollAnswer> {
    const { orchestratorId, machineId } = this.#options
    const holding = [...this.#running.values()].map((claim) => claim.held)
    const mostMs = Math.min(MAX_WAIT_MS, this.#options.waitMs ?? MAX_WAIT_MS)
    const waitMs = this.#free > 0 ? Math.floor(Math.min(mostMs, this.#untilRenewalMs())) : 0
    const limit = Math.min(100, Math.max(0, this.#free) + SPARE_IDS)
    return this.client.poll({ orchestratorId, machineId, limit, waitMs, holding }, { signal: this.#interrupt.signal })
  }

  #noteRenewals({ renewed, lost }: PollAnswer, askedAt: number): void {
    for (const { queueId, leaseMs } of renewed) this.#running.get(queueId)?.renewed(askedAt, leaseMs)
    for (const { queueId, reason } of lost) this.#lose(queueId, reason)
  }

  #lose(queueId: number, reason: AbortReason): void {
    const claim = this.#running.get(queueId)
    if (claim === undefined || claim.isSettling) return
    claim.abort(reason)
    this.#options.onEvent?.({ type: 'lost', queueId, reason })
  }

  /** Resumes or gives back what is held, then claims what is queued, one id after the other for each free place. */
  async #takeWork({ held, queued }: PollAnswer): Promise<boolean> {
    const own = held.filter(({ queueId }) => !this.#running.has(queueId) && !this.#claiming.has(queueId))
    const offers = [
      ...own.map(({ queueId, claimToken }) => ({ queueId, previousToken: claimToken })),
      ...queued.map(({ queueId }) => ({ queueId, previousToken: undefined })),
    ]
    if (this.#options.held === 'release') {
      const { orchestratorId } = this.#options
      await Promise.all(
        own.map(({ queueId, claimToken }) => this.client.release({ orchestratorId, queueId, claimToken })),
      )
      offers.splice(0, own.length)
    }
    const next = offers.values()
    const places = Array.from({ length: Math.max(0, Math.min(this.#free, offers.length)) }, () => this.#fillPlace(next))
    if (places.length === 0) return false
    const claimed = Promise.all(places).then((filled) => filled.some(Boolean))
    // A claim whose answer is late must not hold back the renewal of the others.
    const decided = new AbortController()
    const late = sleep(this.#untilRenewalMs(), decided.signal).then(() => true)
    const isBusy = await Promise.race([claimed, late]).finally(() => decided.abort())
    return isBusy && this.#free === 0
  }

  /** @returns whether a claim was won */
  async #fillPlace(offers: Iterator<{ queueId: number; previousToken: string | undefined }>): Promise<boolean> {
    for (let offer = offers.next(); !offer.done && !this.#isStopping; offer = offers.next()) {
      const { queueId, previousToken } = offer.value
      const { orchestratorId, machineId, leaseMs } = this.#options
      const askedAt = performance.now()
      this.#claiming.add(queueId)
      try {
        const claim = await this.client.claim({
          orchestratorId,
          machineId,
          queueId,
          previousToken,
          claimTimeoutMs: leaseMs,
        })
        if (claim === null) continue
        this.#start(claim, askedAt, previousToken !== undefined)
        this.#failures = 0
        return true
      } catch (error) {
        if (!(error instanceof DispatchError) || isFatal(error)) throw error
        this.#disturbed(error)
        return false
      } finally {
        this.#claiming.delete(queueId)
      }
    }
    return false
  }

  #start(claimed: Claimed, askedAt: number, isResumed: boolean): void {
    const { orchestratorId, handler, onEvent } = this.#options
    const { queueId, attempts } = claimed
    const claim = new RunningClaim(this.client, orchestratorId, claimed, askedAt, (progress, note) =>
      onEvent?.({ type: 'progress', queueId, progress, note }),
    )
    this.#running.set(queueId, claim)
    onEvent?.({ type: 'claimed', queueId, attempts, isResumed })
    // Won after the worker was told to stop: it goes back at once. A handler may itself tell the worker to stop.
    if (this.#isStopping) claim.abort('stopping')
    const end = claim.run(handler).then((how) => {
      this.#running.delete(queueId)
      this.#ends.delete(end)
      onEvent?.({ type: 'ended', queueId, end: how })
      this.#wake.abort()
      if (this.#isStopping) this.#interrupt.abort()
    })
    this.#ends.add(end)
  }

  /** A third of the lease, shortened at random so that a fleet does not renew in one breath. */
  #untilRenewalMs(): number {
    return this.#running.size === 0 ? MAX_WAIT_MS : (this.#options.leaseMs / 3) * (0.8 + 0.2 * Math.random())
  }

  #disturbed(error: DispatchError): number {
    this.#failures += 1
    for (const claim of this.#running.values()) if (claim.isExpired) this.#lose(claim.queueId, 'lease-expired')
    const retryInMs = Math.max(this.#failureMs(), Math.min(error.retryAfterMs ?? 0, BACKOFF.capMs))
    this.#options.onEvent?.({ type: 'disturbed', error, retryInMs })
    return retryInMs
  }

  #failureMs(): number {
    const capMs = this.#running.size === 0 ? BACKOFF.capMs : Math.min(BACKOFF.capMs, this.#options.leaseMs / 6)
    return backoffMs(this.#failures, { ...BACKOFF, capMs })
  }

  /** This machine was asleep, or out of reach, past a lease: it asks whether the claim is still its own before it goes on. */
  #watchLeases(): void {
    const expired = [...this.#running.values()].some(
      (claim) => claim.isExpired && !claim.isSettling && !claim.wasDoubted,
    )
    if (!expired) return
    for (const claim of this.#running.values()) if (claim.isExpired) claim.wasDoubted = true
    this.#interrupt.abort()
  }
}
