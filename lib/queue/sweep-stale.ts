import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { isUnreachable } from '@/lib/db/errors'
import { read, statement } from '@/lib/db/statement'
import { logEndedAttempt } from '@/lib/queue/attempt-log'
import { insertIntoHistory } from '@/lib/queue/history'
import { liveStateCondition } from '@/lib/queue/state'

export interface SweepCounts {
  /** Claims put back into the queue for anyone. */
  released: number
  /** Claims whose last allowed attempt ran out: now in history as failed. */
  failed: number
  /** Rows that could not be swept; each stands alone and holds back no other. */
  unsweepable: number
}

const value = sql.placeholder
const { stale } = liveStateCondition
const leaseExpired = sql`'The lease expired: the machine did not renew its claim in time.'`

// Oldest expiry first: no index has that order, so the planner walks the claimed rows and never the backlog.
// The token stays on a released row, and available_at too: a late holder may still finish, and the row keeps its place.
const sweepOf = (among: SQL) => sql`
  WITH stale AS MATERIALIZED (
    SELECT id, attempts >= max_attempts AS is_final FROM dispatch_queue
     WHERE ${stale} ${among}
     ORDER BY claim_expires_at LIMIT ${value('batch')} FOR UPDATE SKIP LOCKED
  ), released AS (
    UPDATE dispatch_queue
       SET claimed_at = NULL, claim_expires_at = NULL, attempt_log = ${logEndedAttempt('expired', leaseExpired)}
     WHERE id = ANY (ARRAY(SELECT id FROM stale WHERE NOT is_final)) AND ${stale}
    RETURNING id
  ), ended AS (
    DELETE FROM dispatch_queue
     WHERE id = ANY (ARRAY(SELECT id FROM stale WHERE is_final)) AND ${stale}
    RETURNING *
  ), moved AS (
    ${insertIntoHistory('ended', { outcome: 'failed', attemptLog: logEndedAttempt('expired', leaseExpired), lastError: leaseExpired })}
    RETURNING id
  )
  SELECT (SELECT count(*) FROM released), (SELECT count(*) FROM moved)`

const counts = { released: read.number, failed: read.number }
const sweepStatement = statement('sweep', counts, sweepOf(sql``))
const sweepOneStatement = statement('sweep_one', counts, sweepOf(sql`AND id = ${value('queueId')}`))

// In random order, so that rows which cannot be swept do not stand at the head of every pass.
const staleStatement = statement(
  'list_stale',
  { queueId: read.id },
  sql`SELECT id FROM dispatch_queue WHERE ${stale} ORDER BY random() LIMIT ${value('batch')}`,
)

/**
 * Puts back into the queue what machines claimed and did not renew in time, at most `batch` rows; what had its last
 * allowed attempt fails for good. Each row is judged by its own expiry, by the database's clock. Any number may run at once.
 * When one row breaks the batch, the rows are swept one by one, once.
 */
export async function sweepStale(db: Db, { batch }: { batch: number }): Promise<SweepCounts> {
  try {
    const [swept] = await sweepStatement(db, { batch })
    return { released: swept?.released ?? 0, failed: swept?.failed ?? 0, unsweepable: 0 }
  } catch (error) {
    if (isUnreachable(error)) throw error
    const counts = await sweepOneByOne(db, batch)
    // No row was there to break the batch: the statement itself is what fails.
    if (counts.released + counts.failed + counts.unsweepable === 0) throw error
    return counts
  }
}

async function sweepOneByOne(db: Db, batch: number): Promise<SweepCounts> {
  const total: SweepCounts = { released: 0, failed: 0, unsweepable: 0 }
  for (const { queueId } of await staleStatement(db, { batch })) {
    try {
      const [swept] = await sweepOneStatement(db, { batch: 1, queueId })
      total.released += swept?.released ?? 0
      total.failed += swept?.failed ?? 0
    } catch (error) {
      if (isUnreachable(error)) throw error
      total.unsweepable += 1
    }
  }
  return total
}
