import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'
import { logEndedAttempt } from '@/lib/queue/attempt-log'
import { claimLost } from '@/lib/queue/errors'
import { explainLostClaim } from '@/lib/queue/explain-lost-claims'

const value = sql.placeholder

/**
 * Gives a claim up: the row keeps its place, and the attempt does not count. A claim that the sweep already put
 * back has ended as an attempt, and stays counted. The token is cleared, so that a heartbeat still in flight revives nothing.
 */
export const givenUp: SQL = sql`claimed_at = NULL, claim_token = NULL, claim_expires_at = NULL, lease_ms = NULL,
             attempts = CASE WHEN claimed_at IS NULL THEN attempts ELSE greatest(attempts - 1, 0) END,
             attempt_log = CASE WHEN claimed_at IS NULL THEN attempt_log ELSE ${logEndedAttempt('released')} END`

const releaseStatement = statement(
  'release',
  { queueId: read.id },
  sql`UPDATE dispatch_queue
         SET ${givenUp}
       WHERE id = ${value('queueId')}
         AND orchestrator_id = ${value('orchestratorId')}
         AND claim_token = ${value('claimToken')}::uuid
   RETURNING id`,
)

/**
 * Puts claimed work back into the queue at once, for anyone, without using up an attempt.
 *
 * @throws {QueueError} claim-lost, with the reason: `released` when the same release was done before
 */
export async function release(
  db: Db,
  input: { orchestratorId: string; queueId: number; claimToken: string },
): Promise<{ outcome: 'released' }> {
  const [released] = await releaseStatement(db, input)
  if (released !== undefined) return { outcome: 'released' }
  throw claimLost((await explainLostClaim(db, input)).reason)
}
