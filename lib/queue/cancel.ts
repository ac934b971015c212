import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'
import { logEndedAttempt } from '@/lib/queue/attempt-log'
import { insertIntoHistory } from '@/lib/queue/history'
import { refuseAction } from '@/lib/queue/refuse-action'

const cancelStatement = statement(
  'cancel',
  { queueId: read.id },
  sql`WITH ended AS (
        DELETE FROM dispatch_queue WHERE id = ${sql.placeholder('queueId')} RETURNING *
      )
      ${insertIntoHistory('ended', {
        outcome: 'cancelled',
        attemptLog: sql`CASE WHEN claimed_at IS NULL THEN attempt_log ELSE ${logEndedAttempt('cancelled')} END`,
      })}
      RETURNING id`,
)

/**
 * Takes live work out of the queue for good, claimed or not. A holder learns of it at its next call, which is refused
 * with reason `cancelled`; the dedupe key is free at once.
 *
 * @throws {QueueError} wrong-state for finished work, not-found for unknown work
 */
export async function cancel(db: Db, queueId: number): Promise<{ outcome: 'cancelled' }> {
  const [cancelled] = await cancelStatement(db, { queueId })
  if (cancelled === undefined) throw await refuseAction(db, queueId, 'cancelled')
  return { outcome: 'cancelled' }
}
