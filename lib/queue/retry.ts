import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'
import { insertIntoQueue } from '@/lib/queue/history'
import { refuseAction } from '@/lib/queue/refuse-action'

const retryStatement = statement(
  'retry',
  { queueId: read.id },
  sql`WITH finished AS MATERIALIZED (
        SELECT * FROM dispatch_history
         WHERE id = ${sql.placeholder('queueId')} AND outcome IN ('failed', 'cancelled') FOR UPDATE
      ), requeued AS (
        ${insertIntoQueue('finished')} ON CONFLICT DO NOTHING RETURNING id
      ), gone AS (
        DELETE FROM dispatch_history USING requeued WHERE dispatch_history.id = requeued.id
      )
      SELECT id FROM requeued`,
)

/**
 * Puts failed or cancelled work back into the queue under its own id: due now, attempts counted anew, log kept.
 *
 * @throws {QueueError} wrong-state when it is neither, or when its dedupe key is live again (it then stays where it is);
 *   not-found for unknown work
 */
export async function retry(db: Db, queueId: number): Promise<{ outcome: 'queued' }> {
  const [requeued] = await retryStatement(db, { queueId })
  if (requeued === undefined) throw await refuseAction(db, queueId, 'retried')
  return { outcome: 'queued' }
}
