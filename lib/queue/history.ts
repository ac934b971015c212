import { getTableColumns, type SQL, sql } from 'drizzle-orm'
import { dispatchHistory, dispatchQueue, type outcomes } from '@/lib/db/schema'

const queueColumns = new Set(Object.values(getTableColumns(dispatchQueue)).map((column) => column.name))

/** The columns that both tables have, taken from the schema, so that a new one cannot be forgotten on the way. */
const shared = Object.values(getTableColumns(dispatchHistory))
  .map((column) => column.name)
  .filter((name) => queueColumns.has(name))

/** The shared columns as a list for INSERT or SELECT, some of them replaced by an expression. */
function columns(replaced: Record<string, SQL> = {}): SQL {
  return sql.join(
    shared.map((name) => replaced[name] ?? sql.identifier(name)),
    sql`, `,
  )
}

/**
 * Moves rows that a CTE deleted from `dispatch_queue` (with `RETURNING *`) into `dispatch_history`.
 *
 * @param deleted the CTE's name
 * @param ending  the outcome, and what it changes: the attempt log, the last error, the result (a jsonb expression)
 */
export function insertIntoHistory(
  deleted: string,
  ending: { outcome: (typeof outcomes)[number]; attemptLog: SQL; lastError?: SQL; result?: SQL },
): SQL {
  const replaced = { attempt_log: ending.attemptLog, ...(ending.lastError && { last_error: ending.lastError }) }
  return sql`INSERT INTO dispatch_history (${columns()}, outcome, result, finished_at)
    SELECT ${columns(replaced)}, ${sql.raw(`'${ending.outcome}'`)}, ${ending.result ?? sql`NULL::jsonb`}, now()
      FROM ${sql.identifier(deleted)}`
}

/** Puts rows of a CTE with history's columns back into the queue as they were enqueued: no claim, no attempts, due now. */
export function insertIntoQueue(source: string): SQL {
  const fresh = {
    attempts: sql`0`,
    available_at: sql`now()`,
    claimed_at: sql`NULL::timestamptz`,
    claim_token: sql`NULL::uuid`,
    progress: sql`NULL::smallint`,
    progress_note: sql`NULL::text`,
  }
  return sql`INSERT INTO dispatch_queue (${columns()}) SELECT ${columns(fresh)} FROM ${sql.identifier(source)}`
}
