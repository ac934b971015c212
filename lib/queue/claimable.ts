import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'

/** Best priority first, then what has been due for longest. It is the order of the index of claimable rows. */
export const inClaimOrder = sql`ORDER BY priority, available_at, id`

const isQueued = (orchestrator: SQL) => sql`orchestrator_id = ${orchestrator} AND claimed_at IS NULL`

/** Whether a row of this orchestrator may be claimed at this moment. */
export const isClaimable = (orchestrator: SQL) => sql`${isQueued(orchestrator)} AND available_at <= now()`

interface FirstRows {
  orchestrator: SQL
  columns: SQL
  limit: SQL
  /** A locking clause for the rows that are given, and for no others. */
  lock?: SQL
}

/** A SELECT of the first claimable rows of an orchestrator, in claim order. */
export type ClaimOrderScan = (rows: FirstRows) => SQL

const scanWhere = ({ columns, limit, lock }: FirstRows, where: SQL, order: SQL) =>
  sql`SELECT ${columns} FROM dispatch_queue WHERE ${where} ${order} LIMIT ${limit} ${lock ?? sql``}`

/** Through the index of claimable rows. Since version 18 Postgres jumps over the rows of each priority that are not due (skip scan, manual section 11.3). */
const scanIndex: ClaimOrderScan = (rows) => scanWhere(rows, isClaimable(rows.orchestrator), inClaimOrder)

/** {@link scanIndex} that begins at a place in claim order. */
export const scanIndexFrom =
  (place: { priority: SQL; availableAt: SQL; queueId: SQL }): ClaimOrderScan =>
  (rows) =>
    scanWhere(
      rows,
      sql`${isClaimable(rows.orchestrator)} AND (priority, available_at, id) >=
          (${place.priority}::smallint, ${place.availableAt}::timestamptz, ${place.queueId}::bigint)`,
      inClaimOrder,
    )

/**
 * The same rows in the same order, priority by priority: one step into the index for each, and none over rows that are not due,
 * of which there may be a million (a loose index scan by a recursive query). Older versions need it; 18 is a little faster without.
 */
const scanByPriority: ClaimOrderScan = (rows) => {
  const queued = isQueued(rows.orchestrator)
  // The nested loop asks for the rows of a priority only when the better ones have given too few, so no row is locked in vain.
  return sql`
    WITH RECURSIVE priorities AS (
      (SELECT priority FROM dispatch_queue WHERE ${queued} ORDER BY priority LIMIT 1)
      UNION ALL
      SELECT (SELECT priority FROM dispatch_queue
               WHERE ${queued} AND priority > priorities.priority ORDER BY priority LIMIT 1)
        FROM priorities WHERE priorities.priority IS NOT NULL
    )
    SELECT due.* FROM priorities CROSS JOIN LATERAL (${scanWhere(
      rows,
      sql`${isClaimable(rows.orchestrator)} AND priority = priorities.priority`,
      sql`ORDER BY available_at, id`,
    )}) AS due LIMIT ${rows.limit}`
}

/** Makes a statement in both forms. @returns the one for the database at hand: by priority unless its Postgres is known to have skip scans */
export function forEachScan<Form>(name: string, make: (name: string, scan: ClaimOrderScan) => Form): (db: Db) => Form {
  const bySkipScan = make(name, scanIndex)
  const byPriority = make(`${name}_by_priority`, scanByPriority)
  return (db) => (db.hasSkipScan() ? bySkipScan : byPriority)
}
