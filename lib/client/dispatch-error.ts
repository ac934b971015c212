import type { z } from 'zod'
import { problem } from '@/lib/protocol/problem'

type Problem = z.output<typeof problem>

/** What a call can fail with: a problem document's code, or `unreachable` when no answer came, or `aborted` by the caller's signal. */
export type ErrorCode = 'unreachable' | 'aborted' | 'unexpected-answer' | (string & {})

const URN = 'urn:dispatch-queue:problem:'

/** 408: the server gave a connection up before the request was there, and another one may do (RFC 9110, section 15.5.9). 429: later (RFC 6585). */
const TRY_AGAIN = new Set([408, 429])

/** The one error of the client. `status` is 0 when no answer came. */
export class DispatchError extends Error {
  override name = 'DispatchError'
  readonly code: ErrorCode
  readonly status: number
  /** The problem's type, a stable URN; undefined when no problem document came. */
  readonly type: string | undefined
  /** Why a claim is lost (with `claim-lost`). */
  readonly reason: Problem['reason']
  /** The present state (with `wrong-state`). */
  readonly state: Problem['state']
  /** What is wrong with the request (with `invalid-request`). */
  readonly errors: Problem['errors']
  readonly requestId: string | undefined
  /** How long the server asks to wait before the next try, in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    from: { status?: number; problem?: Problem; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: from.cause })
    this.code = code
    this.status = from.status ?? 0
    this.type = from.problem?.type
    this.reason = from.problem?.reason
    this.state = from.problem?.state
    this.errors = from.problem?.errors
    this.requestId = from.problem?.requestId
    this.retryAfterMs = from.retryAfterMs
  }

  /** The same request may succeed later: no answer, or one that says to come back. */
  get isTransient(): boolean {
    return this.code === 'unreachable' || TRY_AGAIN.has(this.status) || this.status >= 500
  }
}

/** The error of an answer that is not a success. */
export function errorOfAnswer(status: number, body: unknown, retryAfter: string | null): DispatchError {
  const retryAfterMs =
    retryAfter !== null && /^\d{1,5}$/.test(retryAfter) ? { retryAfterMs: Number(retryAfter) * 1_000 } : {}
  const parsed = problem.safeParse(body)
  if (!parsed.success)
    return new DispatchError('unexpected-answer', `The server answered ${status}.`, { status, ...retryAfterMs })
  const fields = (parsed.data.errors ?? []).map(({ path, message }) => `${path}: ${message}`)
  const detail = [parsed.data.detail, ...fields].join('\n')
  return new DispatchError(parsed.data.type.slice(URN.length), detail, {
    status,
    problem: parsed.data,
    ...retryAfterMs,
  })
}
