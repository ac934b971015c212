import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'
import { logEndedAttempt } from '@/lib/queue/attempt-log'
import { claimLost } from '@/lib/queue/errors'
import { explainLostClaim } from '@/lib/queue/explain-lost-claims'
import { insertIntoHistory } from '@/lib/queue/history'

export interface CompleteInput {
  orchestratorId: string
  queueId: number
  claimToken: string
  /** Any JSON value; undefined keeps none. */
  result?: unknown
}

const value = sql.placeholder

const completeStatement = statement(
  'complete',
  { queueId: read.id },
  sql`WITH done AS (
        DELETE FROM dispatch_queue
         WHERE id = ${value('queueId')}
           AND orchestrator_id = ${value('orchestratorId')}
           AND claim_token = ${value('claimToken')}::uuid
        RETURNING *
      )
      ${insertIntoHistory('done', {
        outcome: 'completed',
        attemptLog: logEndedAttempt('completed'),
        result: sql`${value('result')}::jsonb`,
      })}
      RETURNING id`,
)

/**
 * Finishes claimed work and keeps its result. A late holder is accepted as long as nobody else has claimed the
 * work since; the same call again gives the same answer and changes nothing.
 *
 * @throws {QueueError} claim-lost, with the reason; the row is then as it was
 */
export async function complete(db: Db, input: CompleteInput): Promise<{ outcome: 'completed' }> {
  const result = input.result === undefined ? null : JSON.stringify(input.result)
  const [done] = await completeStatement(db, { ...input, result })
  if (done !== undefined) return { outcome: 'completed' }

  const lost = await explainLostClaim(db, input)
  if (lost.reason === 'completed' && lost.isOwnFinish) return { outcome: 'completed' }
  throw claimLost(lost.reason)
}
