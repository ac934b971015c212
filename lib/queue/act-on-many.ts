import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'
import { logEndedAttempt } from '@/lib/queue/attempt-log'
import { insertIntoHistory, insertIntoQueue } from '@/lib/queue/history'
import { givenUp } from '@/lib/queue/release'

export type ManyAction = 'release' | 'retry' | 'cancel'

/** A piece of work as a person saw it. */
export interface SeenWork {
  queueId: number
  attempts: number
  claimedBy: string | null
}

// A row that somebody claimed, gave back or finished since the person looked is left alone. Rows are locked in the order of
// their ids, so that overlapping actions wait for each other and never deadlock.
const seen = sql`seen AS MATERIALIZED (
        SELECT "queueId" AS id, attempts AS seen_attempts, "claimedBy" AS seen_by
          FROM jsonb_to_recordset(${sql.placeholder('items')}::jsonb) AS item("queueId" bigint, attempts integer, "claimedBy" text)
      )`
const asSeen = sql`attempts = seen_attempts AND claimed_by IS NOT DISTINCT FROM seen_by`

const statements = {
  release: statement(
    'release_many',
    { queueId: read.id },
    sql`WITH ${seen}, held AS MATERIALIZED (
        SELECT id FROM dispatch_queue JOIN seen USING (id) WHERE claimed_at IS NOT NULL AND ${asSeen}
         ORDER BY id FOR UPDATE OF dispatch_queue
      )
      UPDATE dispatch_queue SET ${givenUp} FROM held
       WHERE dispatch_queue.id = held.id AND claimed_at IS NOT NULL
   RETURNING dispatch_queue.id`,
  ),
  cancel: statement(
    'cancel_many',
    { queueId: read.id },
    sql`WITH ${seen}, live AS MATERIALIZED (
        SELECT id FROM dispatch_queue JOIN seen USING (id) WHERE ${asSeen} ORDER BY id FOR UPDATE OF dispatch_queue
      ), ended AS (
        DELETE FROM dispatch_queue USING live WHERE dispatch_queue.id = live.id RETURNING dispatch_queue.*
      )
      ${insertIntoHistory('ended', {
        outcome: 'cancelled',
        attemptLog: sql`CASE WHEN claimed_at IS NULL THEN attempt_log ELSE ${logEndedAttempt('cancelled')} END`,
      })}
      RETURNING id`,
  ),
  retry: statement(
    'retry_many',
    { queueId: read.id },
    sql`WITH ${seen}, finished AS MATERIALIZED (
        SELECT dispatch_history.* FROM dispatch_history JOIN seen USING (id)
         WHERE outcome IN ('failed', 'cancelled') AND ${asSeen} ORDER BY id FOR UPDATE OF dispatch_history
      ), requeued AS (
        ${insertIntoQueue('finished')} ON CONFLICT DO NOTHING RETURNING id
      ), gone AS (
        DELETE FROM dispatch_history USING requeued WHERE dispatch_history.id = requeued.id
      )
      SELECT id FROM requeued`,
  ),
} satisfies Record<ManyAction, unknown>

/**
 * A person's action on many pieces of work in one statement. Each stands for itself.
 *
 * @returns the ids of those that were changed; the others are not as the person saw them, or not in a state for it
 */
export async function actOnMany(db: Db, action: ManyAction, items: readonly SeenWork[]): Promise<number[]> {
  const rows = await statements[action](db, { items: JSON.stringify(items) })
  return rows.map(({ queueId }) => queueId)
}
