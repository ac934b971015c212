import { type SQL, sql } from 'drizzle-orm'

const ATTEMPT_LOG_LENGTH = 100
const LOGGED_ERROR_LENGTH = 1_000

/** How an attempt ended: `expired` is the sweep's word for a lease that ran out. */
export type AttemptEnd = 'completed' | 'failed' | 'released' | 'expired' | 'cancelled'

/** An instant as it stands on the wire: ISO 8601, UTC, milliseconds. */
const iso = (instant: SQL) => sql`to_char(${instant} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/**
 * A row's attempt log with the attempt that ends now added at its end; the oldest entry goes when the log
 * is full. An entry never holds a claim token.
 */
export function logEndedAttempt(how: AttemptEnd, error: SQL = sql`NULL::text`): SQL {
  return sql`(CASE WHEN jsonb_array_length(attempt_log) >= ${sql.raw(`${ATTEMPT_LOG_LENGTH}`)} THEN attempt_log - 0 ELSE attempt_log END)
      || jsonb_build_object('attempt', attempts, 'machine', claimed_by, 'claimedAt', ${iso(sql`claimed_at`)},
           'endedAt', ${iso(sql`now()`)}, 'how', ${sql.raw(`'${how}'`)}, 'error', left(${error}, ${sql.raw(`${LOGGED_ERROR_LENGTH}`)}))`
}
