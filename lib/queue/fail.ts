import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { nullable, read, statement } from '@/lib/db/statement'
import { logEndedAttempt } from '@/lib/queue/attempt-log'
import { claimLost } from '@/lib/queue/errors'
import { explainLostClaim } from '@/lib/queue/explain-lost-claims'
import { insertIntoHistory } from '@/lib/queue/history'
import { toStorableText } from '@/lib/queue/storable-text'

const ERROR_MAX_LENGTH = 10_000

export interface FailInput {
  orchestratorId: string
  queueId: number
  claimToken: string
  error: string
  /** false: fails for good at once. */
  retryable?: boolean | undefined
  /** Exactly this long until the next attempt, instead of the growing backoff. */
  retryDelayMs?: number | undefined
}

export type FailOutcome = { outcome: 'retrying'; availableAt: string } | { outcome: 'failed' }

const value = sql.placeholder
const error = sql`${value('error')}::text`

// min(1 h, 10 s × 2^(attempts − 1)) plus up to 20 %. The exponent is bounded before it is used: power() fails where it overflows.
const backoffMs = sql`least(3600000, 10000 * power(2, greatest(0, least(attempts - 1, 20)))) * (1 + 0.2 * random())`

// No SKIP LOCKED here: a holder waits for its own heartbeat's lock, or it would be told falsely that it lost its claim.
const failStatement = statement(
  'fail',
  { outcome: read.text, availableAt: nullable(read.instant) },
  sql`WITH held AS MATERIALIZED (
        SELECT id, attempts >= max_attempts OR NOT ${value('retryable')}::boolean AS is_final
          FROM dispatch_queue
         WHERE id = ${value('queueId')}
           AND orchestrator_id = ${value('orchestratorId')}
           AND claim_token = ${value('claimToken')}::uuid
           FOR UPDATE
      ), retrying AS (
        UPDATE dispatch_queue
           SET claimed_at = NULL, claim_token = NULL, claim_expires_at = NULL, lease_ms = NULL,
               available_at = now() + coalesce(${value('retryDelayMs')}::bigint, ${backoffMs}) * interval '1 millisecond',
               last_error = ${error},
               attempt_log = ${logEndedAttempt('failed', error)}
         WHERE id = (SELECT id FROM held WHERE NOT is_final)
           AND orchestrator_id = ${value('orchestratorId')}
           AND claim_token = ${value('claimToken')}::uuid
        RETURNING available_at
      ), ended AS (
        DELETE FROM dispatch_queue
         WHERE id = (SELECT id FROM held WHERE is_final)
           AND orchestrator_id = ${value('orchestratorId')}
           AND claim_token = ${value('claimToken')}::uuid
        RETURNING *
      ), moved AS (
        ${insertIntoHistory('ended', { outcome: 'failed', attemptLog: logEndedAttempt('failed', error), lastError: error })}
        RETURNING id
      )
      SELECT 'retrying', available_at FROM retrying
      UNION ALL
      SELECT 'failed', NULL FROM moved`,
)

/**
 * Reports that an attempt failed. The work goes back to the queue, due after a growing backoff, or, at its last
 * attempt or when it cannot be retried, to history as failed. A text too long or not storable is mended, never refused.
 *
 * @throws {QueueError} claim-lost, with the reason: `released` when this failure was recorded before and is being retried
 */
export async function fail(db: Db, input: FailInput): Promise<FailOutcome> {
  const [row] = await failStatement(db, {
    ...input,
    error: toStorableText(input.error, ERROR_MAX_LENGTH),
    retryable: input.retryable ?? true,
    retryDelayMs: input.retryDelayMs ?? null,
  })
  if (row !== undefined) {
    return row.availableAt === null ? { outcome: 'failed' } : { outcome: 'retrying', availableAt: row.availableAt }
  }

  const lost = await explainLostClaim(db, input)
  if (lost.reason === 'failed' && lost.isOwnFinish) return { outcome: 'failed' }
  throw claimLost(lost.reason)
}
