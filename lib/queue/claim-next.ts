import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { isConflict } from '@/lib/db/errors'
import { statement } from '@/lib/db/statement'
import { type Claim, claimColumns, claimReaders, leaseFor } from '@/lib/queue/claim'

export interface ClaimNextInput {
  orchestratorId: string
  machineId?: string | undefined
  /** At most this many claims. */
  limit: number
  /** The answer ends early at this many bytes of payload, but never before the first claim. */
  maxBytes: number
  leaseMs?: number | undefined
  defaultLeaseMs: number
}

const value = sql.placeholder
const taken = sql`claimed_at = now(), claimed_by = ${value('machineId')}::text, claim_token = gen_random_uuid(),
             attempts = attempts + 1, lease_ms = ${leaseFor},
             claim_expires_at = now() + ${leaseFor} * interval '1 millisecond', progress = NULL, progress_note = NULL`
const claimable = sql`orchestrator_id = ${value('orchestratorId')} AND claimed_at IS NULL AND available_at <= now()`
const inClaimOrder = sql`ORDER BY priority, available_at, id`

// One row has a statement of its own: a scalar sub-select is about 1.4 times as fast as a list of one.
const claimOneStatement = statement(
  'claim_next_one',
  claimReaders,
  sql`UPDATE dispatch_queue
         SET ${taken}
       WHERE id = (SELECT id FROM dispatch_queue WHERE ${claimable} ${inClaimOrder} LIMIT 1 FOR UPDATE SKIP LOCKED)
         AND ${claimable}
   RETURNING ${claimColumns}`,
)

// MATERIALIZED: the planner may run a plain sub-select once per row, and then more than LIMIT rows are claimed.
const claimManyStatement = statement(
  'claim_next_many',
  claimReaders,
  sql`WITH free AS MATERIALIZED (
        SELECT id, payload_bytes, priority, available_at FROM dispatch_queue
         WHERE ${claimable} ${inClaimOrder} LIMIT ${value('limit')} FOR UPDATE SKIP LOCKED
      ), fitting AS MATERIALIZED (
        SELECT id FROM (
          SELECT id, sum(payload_bytes) OVER (${inClaimOrder}) - payload_bytes AS bytes_before FROM free
        ) AS running WHERE bytes_before = 0 OR bytes_before < ${value('maxBytes')}::bigint
      ), claimed AS (
        UPDATE dispatch_queue SET ${taken}
         WHERE id = ANY (ARRAY(SELECT id FROM fitting)) AND ${claimable}
        RETURNING *
      )
      SELECT ${claimColumns} FROM claimed ${inClaimOrder}`,
)

/**
 * Takes up to `limit` pieces of work, best priority and longest due first, and answers them in that order.
 * Rows that others are taking at this moment are passed over, so callers never wait for each other and never get
 * the same row. A lost answer is recovered through what a poll lists as held.
 */
export async function claimNext(db: Db, input: ClaimNextInput): Promise<Claim[]> {
  const { limit, maxBytes, ...values } = {
    ...input,
    machineId: input.machineId ?? null,
    leaseMs: input.leaseMs ?? null,
  }
  try {
    if (limit === 1) return await claimOneStatement(db, values)
    return await claimManyStatement(db, { ...values, limit, maxBytes })
  } catch (error) {
    if (isConflict(error)) return []
    throw error
  }
}
