import pRetry from 'p-retry'
import type { z } from 'zod'
import { DispatchError, errorOfAnswer } from '@/lib/client/dispatch-error'
import { backoffMs, sleep } from '@/lib/client/sleep'

export interface TransportOptions {
  /** Where the server is, such as `https://queue.example.com`. */
  url: string
  key: string
  /** How long one try may take, in milliseconds, besides what the server was asked to wait. 10,000 unless given. */
  timeoutMs?: number
  /** How often a call that is safe to repeat is tried again. 4 unless given. */
  retries?: number
  /** Named to the server, which shows it with the machine. */
  version?: string
  /** Told the server's version with each of its answers. */
  onServerVersion?: (version: string) => void
  fetch?: typeof fetch
}

export interface CallOptions {
  signal?: AbortSignal
}

interface Request<Answer> {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  body?: unknown
  /** The shape of a success. */
  answer: z.ZodType<Answer>
  /** Repeating it changes nothing, so it is tried again when its answer may have been lost. */
  isRepeatable: boolean
  /** What the server may wait before it answers, in milliseconds. */
  waitMs?: number | undefined
  signal?: AbortSignal | undefined
}

const DEFAULT_TIMEOUT_MS = 10_000
const DEFAULT_RETRIES = 4
const BACKOFF = { baseMs: 200, capMs: 10_000 }

/** Sends requests and repeats those that are safe to repeat. It uses nothing but web APIs. */
export class Transport {
  readonly #options: TransportOptions
  readonly #base: string

  constructor(options: TransportOptions) {
    this.#options = options
    this.#base = options.url.replace(/\/+$/, '')
  }

  /**
   * @returns the answer, checked against its shape
   * @throws {DispatchError}
   */
  send<Answer>(request: Request<Answer>): Promise<Answer> {
    if (!request.isRepeatable) return this.#try(request)
    return pRetry(() => this.#try(request), {
      retries: this.#options.retries ?? DEFAULT_RETRIES,
      minTimeout: 0,
      shouldRetry: ({ error }) => error instanceof DispatchError && error.isTransient,
      onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
        if (retriesLeft === 0 || !(error instanceof DispatchError) || !error.isTransient) return
        await sleep(Math.max(error.retryAfterMs ?? 0, backoffMs(attemptNumber, BACKOFF)), request.signal)
      },
      ...(request.signal && { signal: request.signal }),
    }).catch((error: unknown) => {
      throw error instanceof DispatchError
        ? error
        : new DispatchError('aborted', 'The call was aborted.', { cause: error })
    })
  }

  async #try<Answer>(request: Request<Answer>): Promise<Answer> {
    const timeout = AbortSignal.timeout((this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS) + (request.waitMs ?? 0))
    const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout
    const [response, body] = await this.#fetch(request, signal)
    if (!response.ok) throw errorOfAnswer(response.status, body, response.headers.get('retry-after'))
    const parsed = request.answer.safeParse(body)
    if (parsed.success) return parsed.data
    throw new DispatchError(
      'unexpected-answer',
      `The answer to ${request.method} ${request.path} has another shape than this client knows.`,
      {
        status: response.status,
        cause: parsed.error,
      },
    )
  }

  async #fetch(
    { method, path, body, signal: own }: Request<unknown>,
    signal: AbortSignal,
  ): Promise<[Response, unknown]> {
    const send = this.#options.fetch ?? fetch
    try {
      const response = await send(`${this.#base}${path}`, {
        method,
        signal,
        headers: {
          authorization: `Bearer ${this.#options.key}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(this.#options.version !== undefined && { 'dispatch-client-version': this.#options.version }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const serverVersion = response.headers.get('dispatch-version')
      if (serverVersion !== null) this.#options.onServerVersion?.(serverVersion)
      return [response, response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : undefined]
    } catch (cause) {
      if (own?.aborted) throw new DispatchError('aborted', 'The call was aborted.', { cause })
      throw new DispatchError('unreachable', `No answer from ${this.#base}: ${reasonOf(cause)}.`, { cause })
    }
  }
}

/** fetch says only "fetch failed"; the reason is its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure'
  if (error.name === 'TimeoutError') return 'it took too long'
  return error.cause instanceof Error ? error.cause.message || error.cause.name : error.message
}
