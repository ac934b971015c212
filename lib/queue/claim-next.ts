import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { isConflict } from '@/lib/db/errors'
import { read, statement } from '@/lib/db/statement'
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

/** A row's place in the claim order. */
export interface Place {
  priority: number
  /** As Postgres writes it, with its microseconds. */
  availableAt: string
  queueId: number
}

export interface Scan {
  claims: Claim[]
  /** The place of the last claim. */
  end: Place | undefined
  /** How long Postgres worked on it, in milliseconds; undefined where nothing was claimed. */
  tookMs: number | undefined
}

const value = sql.placeholder
const taken = sql`claimed_at = now(), claimed_by = ${value('machineId')}::text, claim_token = gen_random_uuid(),
             attempts = attempts + 1, lease_ms = ${leaseFor},
             claim_expires_at = now() + ${leaseFor} * interval '1 millisecond', progress = NULL, progress_note = NULL`
const claimable = sql`orchestrator_id = ${value('orchestratorId')} AND claimed_at IS NULL AND available_at <= now()`
const inClaimOrder = sql`ORDER BY priority, available_at, id`

const readers = { ...claimReaders, priority: read.number, availableAt: read.text, tookMs: read.number }
const columns = sql`${claimColumns}, priority, available_at,
            1000 * date_part('epoch', clock_timestamp() - statement_timestamp())`

/** The scan goes through the index of claimable rows, from its beginning or, by a row comparison, from a place on. */
const scans = {
  fromTheBeginning: sql`${claimable}`,
  fromAPlace: sql`${claimable} AND (priority, available_at, id) >=
                   (${value('priority')}::smallint, ${value('availableAt')}::timestamptz, ${value('queueId')}::bigint)`,
}

// One row has a statement of its own: a scalar sub-select is about 1.4 times as fast as a list of one.
const claimOne = (name: string, where: SQL) =>
  statement(
    name,
    readers,
    sql`UPDATE dispatch_queue
         SET ${taken}
       WHERE id = (SELECT id FROM dispatch_queue WHERE ${where} ${inClaimOrder} LIMIT 1 FOR UPDATE SKIP LOCKED)
         AND ${claimable}
   RETURNING ${columns}`,
  )

// MATERIALIZED: the planner may run a plain sub-select once per row, and then more than LIMIT rows are claimed.
const claimMany = (name: string, where: SQL) =>
  statement(
    name,
    readers,
    sql`WITH free AS MATERIALIZED (
        SELECT id, payload_bytes, priority, available_at FROM dispatch_queue
         WHERE ${where} ${inClaimOrder} LIMIT ${value('limit')} FOR UPDATE SKIP LOCKED
      ), fitting AS MATERIALIZED (
        SELECT id FROM (
          SELECT id, sum(payload_bytes) OVER (${inClaimOrder}) - payload_bytes AS bytes_before FROM free
        ) AS running WHERE bytes_before = 0 OR bytes_before < ${value('maxBytes')}::bigint
      ), claimed AS (
        UPDATE dispatch_queue SET ${taken}
         WHERE id = ANY (ARRAY(SELECT id FROM fitting)) AND ${claimable}
        RETURNING *
      )
      SELECT ${columns} FROM claimed ${inClaimOrder}`,
  )

const claimOneStatement = claimOne('claim_next_one', scans.fromTheBeginning)
const claimOneFromStatement = claimOne('claim_next_one_from', scans.fromAPlace)
const claimManyStatement = claimMany('claim_next_many', scans.fromTheBeginning)
const claimManyFromStatement = claimMany('claim_next_many_from', scans.fromAPlace)

/**
 * Takes up to `limit` pieces of work, best priority and longest due first, and answers them in that order.
 * Rows that others are taking at this moment are passed over, so callers never wait for each other and never get
 * the same row. A lost answer is recovered through what a poll lists as held.
 *
 * @param from rows before this place are not looked at: claimed rows are dead entries of the index until a vacuum may remove
 *   them, and all of them stand before the first claimable row
 */
export async function scanForClaims(db: Db, input: ClaimNextInput, from?: Place): Promise<Scan> {
  const { limit, maxBytes, ...rest } = input
  const values = { ...rest, ...from, machineId: input.machineId ?? null, leaseMs: input.leaseMs ?? null }
  try {
    const rows =
      limit === 1
        ? await (from ? claimOneFromStatement : claimOneStatement)(db, values)
        : await (from ? claimManyFromStatement : claimManyStatement)(db, { ...values, limit, maxBytes })
    const last = rows.at(-1)
    return {
      claims: rows.map(({ priority: _, availableAt: __, tookMs: ___, ...claim }) => claim),
      end: last && { priority: last.priority, availableAt: last.availableAt, queueId: last.queueId },
      tookMs: last?.tookMs,
    }
  } catch (error) {
    if (isConflict(error)) return { claims: [], end: undefined, tookMs: undefined }
    throw error
  }
}

/** {@link scanForClaims} from the beginning. */
export async function claimNext(db: Db, input: ClaimNextInput): Promise<Claim[]> {
  return (await scanForClaims(db, input)).claims
}
