import type { DispatchClient } from '@/lib/client/dispatch-client'
import { DispatchError } from '@/lib/client/dispatch-error'
import { backoffMs, sleep } from '@/lib/client/sleep'

/** A failure that another attempt would only repeat: the work fails for good. */
export class PermanentError extends Error {
  override name = 'PermanentError'
}

/** A failure that is expected to pass; the next attempt is due after exactly this long instead of the growing backoff. */
export class RetryLaterError extends Error {
  override name = 'RetryLaterError'
  readonly retryDelayMs: number

  constructor(message: string, retryDelayMs: number) {
    super(message)
    this.retryDelayMs = retryDelayMs
  }
}

/** Why a handler's signal is aborted: its claim is lost, its lease ran out unrenewed, or the worker stops. */
export type AbortReason =
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'reclaimed'
  | 'released'
  | 'unknown'
  | 'lease-expired'
  | 'stopping'

/** What a handler is given. */
export interface Job {
  queueId: number
  payload: unknown
  /** 1 for the first. */
  attempt: number
  /** Aborts when this machine must stop working on it; its `reason` is an {@link AbortReason}. */
  signal: AbortSignal
  /** Notes progress (percent) and a word; sent at most once a second, and it never throws. */
  heartbeat(progress?: number, note?: string): void
}

/** Does the work. What it returns is the result; what it throws is the failure. */
export type Handler = (job: Job) => Promise<unknown>

export interface Claimed {
  queueId: number
  claimToken: string
  payload: unknown
  attempts: number
  leaseMs: number
}

/** How a claim ended for this machine. */
export type ClaimEnd =
  | { how: 'completed' }
  | { how: 'failed'; error: string; isFinal: boolean }
  | { how: 'released' }
  | { how: 'lost'; reason: AbortReason }
  | { how: 'unreported'; error: DispatchError }

const NOTE_EVERY_MS = 1_000
/** How long a handler may take to stop once it was told to, in milliseconds. */
const STOP_MS = 10_000
/** How long a server that does not answer is waited for with what became of a claim, in milliseconds. */
const SETTLE_FOR_MS = 600_000
const SETTLE_BACKOFF = { baseMs: 500, capMs: 15_000 }

/** One claim while its handler runs: its lease by this machine's monotonic clock, its progress, and how it is settled. */
export class RunningClaim {
  readonly queueId: number
  readonly claimToken: string
  readonly attempts: number
  /** The handler has ended; what is left is to tell the server. */
  isSettling = false
  /** The lease was seen to be over since it was last renewed. */
  wasDoubted = false
  #progress: number | undefined
  #note: string | undefined
  /** When the lease ends if nothing renews it, on the monotonic clock. Counted from before the call that set it. */
  #expiresAt: number
  readonly #onProgress: (progress: number | undefined, note: string | undefined) => void
  readonly #client: DispatchClient
  readonly #orchestratorId: string
  readonly #payload: unknown
  readonly #abort = new AbortController()
  #noteTimer: ReturnType<typeof setTimeout> | undefined

  constructor(
    client: DispatchClient,
    orchestratorId: string,
    claimed: Claimed,
    askedAt: number,
    onProgress: (progress: number | undefined, note: string | undefined) => void,
  ) {
    this.#onProgress = onProgress
    this.#client = client
    this.#orchestratorId = orchestratorId
    this.#payload = claimed.payload
    this.queueId = claimed.queueId
    this.claimToken = claimed.claimToken
    this.attempts = claimed.attempts
    this.#expiresAt = askedAt + claimed.leaseMs
  }

  /** Tells the handler to stop. The first reason stands. */
  abort(reason: AbortReason): void {
    if (!this.#abort.signal.aborted) this.#abort.abort(reason)
  }

  /** What a poll says of this claim to have it renewed. */
  get held() {
    return { queueId: this.queueId, claimToken: this.claimToken, progress: this.#progress, note: this.#note }
  }

  get isExpired(): boolean {
    return performance.now() > this.#expiresAt
  }

  /** Takes note of a renewal that was asked for at `askedAt`, on the monotonic clock. */
  renewed(askedAt: number, leaseMs: number): void {
    this.#expiresAt = askedAt + leaseMs
    this.wasDoubted = false
  }

  /** Runs the handler and tells the server how it ended. It never rejects. */
  async run(handler: Handler): Promise<ClaimEnd> {
    const settle = await this.#handle(handler)
    this.isSettling = true
    clearTimeout(this.#noteTimer)
    try {
      return await this.#insist(settle)
    } catch (error) {
      if (!(error instanceof DispatchError)) throw error
      return error.code === 'claim-lost'
        ? { how: 'lost', reason: error.reason ?? 'unknown' }
        : { how: 'unreported', error }
    }
  }

  /** The work is done, and the claim is still renewed: a server that is away is waited for, rather than having it done twice. */
  async #insist(settle: () => Promise<ClaimEnd>): Promise<ClaimEnd> {
    const until = performance.now() + SETTLE_FOR_MS
    for (let failures = 1; ; failures += 1) {
      try {
        return await settle()
      } catch (error) {
        const isPatient = performance.now() < until && !this.#abort.signal.aborted
        if (!(error instanceof DispatchError) || !error.isTransient || !isPatient) throw error
        await sleep(Math.max(error.retryAfterMs ?? 0, backoffMs(failures, SETTLE_BACKOFF)), this.#abort.signal)
      }
    }
  }

  async #handle(handler: Handler): Promise<() => Promise<ClaimEnd>> {
    const { signal } = this.#abort
    const ended = new AbortController()
    const heartbeat = (progress?: number, note?: string) => this.#noteProgress(progress, note)
    try {
      const job = { queueId: this.queueId, payload: this.#payload, attempt: this.attempts, signal, heartbeat }
      const result = await Promise.race([handler(job), this.#overdue(ended.signal)])
      return signal.aborted ? () => this.#giveUp() : () => this.#complete(result)
    } catch (error) {
      return signal.aborted ? () => this.#giveUp() : () => this.#fail(error)
    } finally {
      ended.abort()
    }
  }

  /** A handler that ignores being stopped is waited for a little, and then no more: the claim goes back. */
  async #overdue(ended: AbortSignal): Promise<void> {
    const { signal } = this.#abort
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    if (signal.reason === 'stopping') return sleep(STOP_MS, ended)
    return new Promise(() => {})
  }

  async #complete(result: unknown): Promise<ClaimEnd> {
    try {
      await this.#client.complete({ ...this.#own(), ...(result !== undefined && { result }) })
      return { how: 'completed' }
    } catch (error) {
      // The work is done but its result cannot be kept; saying so is better than a claim that runs out.
      const isRefused = error instanceof DispatchError && (error.status === 413 || error.status === 400)
      if (!isRefused) throw error
      return this.#fail(new PermanentError(`the result was refused: ${error.message}`))
    }
  }

  async #fail(error: unknown): Promise<ClaimEnd> {
    const message = error instanceof Error ? error.message || error.name : String(error)
    const isPermanent = error instanceof PermanentError
    const retryDelayMs = error instanceof RetryLaterError ? { retryDelayMs: error.retryDelayMs } : {}
    const request = { ...this.#own(), error: message, retryable: !isPermanent, ...retryDelayMs }
    try {
      const { outcome } = await this.#client.fail(request)
      return { how: 'failed', error: message, isFinal: outcome === 'failed' }
    } catch (lost) {
      // A repetition of a failure that was recorded, whose answer was lost.
      if (isReleased(lost)) return { how: 'failed', error: message, isFinal: false }
      throw lost
    }
  }

  /** A handler that was told to stop: a claim that may still be this machine's goes back at once. */
  async #giveUp(): Promise<ClaimEnd> {
    const reason: AbortReason = this.#abort.signal.reason
    if (reason !== 'stopping') return { how: 'lost', reason }
    try {
      await this.#client.release(this.#own())
    } catch (lost) {
      if (!isReleased(lost)) throw lost
    }
    return { how: 'released' }
  }

  #own() {
    return { orchestratorId: this.#orchestratorId, queueId: this.queueId, claimToken: this.claimToken }
  }

  #noteProgress(progress?: number, note?: string): void {
    if (progress !== undefined) this.#progress = Math.round(Math.min(100, Math.max(0, progress)))
    if (note !== undefined) this.#note = note
    this.#onProgress(this.#progress, this.#note)
    this.#noteTimer ??= setTimeout(() => this.#sendNote(), NOTE_EVERY_MS)
  }

  async #sendNote(): Promise<void> {
    this.#noteTimer = undefined
    const askedAt = performance.now()
    try {
      const renewed = await this.#client.heartbeat({ ...this.#own(), progress: this.#progress, note: this.#note })
      this.renewed(askedAt, renewed.leaseMs)
    } catch (error) {
      if (error instanceof DispatchError && error.code === 'claim-lost') this.abort(error.reason ?? 'unknown')
    }
  }
}

const isReleased = (error: unknown): boolean =>
  error instanceof DispatchError && error.code === 'claim-lost' && error.reason === 'released'
