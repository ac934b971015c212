import type { z } from 'zod'
import { ConfigError } from '@/lib/config'
import { isConflict, isUnreachable, isUnstorableValue } from '@/lib/db/errors'
import { jsonResponse } from '@/lib/http/json'
import { log, loggableError } from '@/lib/instance/log'
import type { problem, problemCode } from '@/lib/protocol/problem'
import { QueueError, type Refusal } from '@/lib/queue/errors'

type ProblemCode = z.output<typeof problemCode>
type ProblemDetails = Partial<Pick<z.output<typeof problem>, 'errors' | 'reason' | 'limitBytes'>> & { state?: string }

const problems: Record<ProblemCode, { status: number; title: string }> = {
  'invalid-request': { status: 400, title: 'The request is not valid' },
  unauthorized: { status: 401, title: 'A valid key is required' },
  forbidden: { status: 403, title: 'This key may not do that' },
  'not-found': { status: 404, title: 'Not found' },
  'method-not-allowed': { status: 405, title: 'The method is not allowed here' },
  'claim-lost': { status: 409, title: 'The claim is lost' },
  'wrong-state': { status: 409, title: 'The work is in another state' },
  'too-large': { status: 413, title: 'The content is too large' },
  'unsupported-media-type': { status: 415, title: 'The body must be JSON' },
  unavailable: { status: 503, title: 'The queue is not available right now' },
  internal: { status: 500, title: 'Something failed on our side' },
}

const RETRY_AFTER_SECONDS = '2'

/** A refusal that is to be answered as a problem document. `detail` tells the caller what to do. */
export class ProblemError extends Error {
  override name = 'ProblemError'
  readonly code: ProblemCode
  readonly details: ProblemDetails
  readonly headers: Record<string, string>

  constructor(code: ProblemCode, detail: string, details: ProblemDetails = {}, headers: Record<string, string> = {}) {
    super(detail)
    this.code = code
    this.details = details
    this.headers = headers
  }
}

/** The one place where an error becomes an answer (RFC 9457). What is our fault is logged under the same request id. */
export function problemResponse(error: unknown, requestId: string): Response {
  const refused = asProblem(error)
  const { status, title } = problems[refused.code]
  if (status >= 500) log().error({ requestId, status, ...loggableError(error) }, title)
  const body = {
    type: `urn:dispatch-queue:problem:${refused.code}`,
    title,
    status,
    detail: refused.message,
    requestId,
    ...refused.details,
  }
  return jsonResponse(body, status, {
    'content-type': 'application/problem+json',
    'x-request-id': requestId,
    ...(refused.code === 'unavailable' && { 'retry-after': RETRY_AFTER_SECONDS }),
    ...refused.headers,
  })
}

function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  if (error instanceof QueueError) return refusalAsProblem(error.refusal, error.message)
  if (error instanceof ConfigError) {
    return new ProblemError('unavailable', 'The app is not set up: whoever runs it finds the reason in its log.')
  }
  if (isUnreachable(error) || isConflict(error)) {
    return new ProblemError(
      'unavailable',
      'The database did not answer in time. Send the request again after the time in Retry-After.',
    )
  }
  if (isUnstorableValue(error)) {
    return new ProblemError(
      'invalid-request',
      'The database cannot store a value of this request: a character, number or structure is out of range.',
    )
  }
  return new ProblemError(
    'internal',
    'The request failed because of a fault on our side. Report it with its requestId.',
  )
}

function refusalAsProblem(refusal: Refusal, message: string): ProblemError {
  switch (refusal.code) {
    case 'claim-lost':
      return new ProblemError('claim-lost', message, { reason: refusal.reason })
    case 'wrong-state':
      return new ProblemError('wrong-state', message, { state: refusal.state })
    case 'not-found':
      return new ProblemError('not-found', message)
    case 'busy':
      return new ProblemError('unavailable', `${message} Send the request again after the time in Retry-After.`)
    default:
      return refusal satisfies never
  }
}
