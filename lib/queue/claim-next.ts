import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { isConflict } from '@/lib/db/errors'
import { read, statement } from '@/lib/db/statement'
import { type Claim, claimColumns, claimReaders, leaseFor } from '@/lib/queue/claim'
import { type ClaimOrderScan, forEachScan, inClaimOrder, isClaimable, scanIndexFrom } from '@/lib/queue/claimable'

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

/** One of several callers who are served by one statement. */
export interface Slot {
  machineId?: string | undefined
  leaseMs?: number | undefined
}

/** A claim for the caller of this number, from 0. */
export type SlotClaim = Claim & { slot: number }

export interface Scan<Found = Claim> {
  claims: Found[]
  /** The place of the last claim. */
  end: Place | undefined
  /** How long Postgres worked on it, in milliseconds; undefined where nothing was claimed. */
  tookMs: number | undefined
}

const value = sql.placeholder
const takenBy = (machine: SQL, lease: SQL) =>
  sql`claimed_at = now(), claimed_by = ${machine}, claim_token = gen_random_uuid(),
             attempts = attempts + 1, lease_ms = ${lease},
             claim_expires_at = now() + ${lease} * interval '1 millisecond', progress = NULL, progress_note = NULL`
const taken = takenBy(sql`${value('machineId')}::text`, leaseFor)
const orchestrator = sql`${value('orchestratorId')}`
const claimable = isClaimable(orchestrator)
const lock = sql`FOR UPDATE SKIP LOCKED`

const readers = { ...claimReaders, priority: read.number, availableAt: read.text, tookMs: read.number }
const columns = sql`${claimColumns}, priority, available_at,
            1000 * date_part('epoch', clock_timestamp() - statement_timestamp())`

const place = {
  priority: sql`${value('priority')}`,
  availableAt: sql`${value('availableAt')}`,
  queueId: sql`${value('queueId')}`,
}

/** A statement that begins at the first claimable row, and one that begins at a place. */
function forEachBeginning<Form>(name: string, make: (name: string, scan: ClaimOrderScan) => Form) {
  const fromTheBeginning = forEachScan(name, make)
  const fromAPlace = make(`${name}_from`, scanIndexFrom(place))
  return (db: Db, from: Place | undefined): Form => (from === undefined ? fromTheBeginning(db) : fromAPlace)
}

// One row has a statement of its own: a scalar sub-select is about 1.4 times as fast as a list of one.
const claimOne = (name: string, scan: ClaimOrderScan) =>
  statement(
    name,
    readers,
    sql`UPDATE dispatch_queue
         SET ${taken}
       WHERE id = (${scan({ orchestrator, columns: sql`id`, limit: sql`1`, lock })})
         AND ${claimable}
   RETURNING ${columns}`,
  )

// MATERIALIZED: the planner may run a plain sub-select once per row, and then more than LIMIT rows are claimed.
const claimMany = (name: string, scan: ClaimOrderScan) =>
  statement(
    name,
    readers,
    sql`WITH free AS MATERIALIZED (
        ${scan({ orchestrator, columns: sql`id, payload_bytes, priority, available_at`, limit: sql`${value('limit')}`, lock })}
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

// As many rows as there are slots, the first row to the first slot.
const claimForSlots = (name: string, scan: ClaimOrderScan) =>
  statement(
    name,
    { ...readers, slot: read.number },
    sql`WITH slots AS MATERIALIZED (
        SELECT number, asked ->> 'machineId' AS slot_machine, (asked ->> 'leaseMs')::integer AS slot_lease_ms
          FROM jsonb_array_elements(${value('slots')}::jsonb) WITH ORDINALITY AS slot (asked, number)
      ), free AS MATERIALIZED (
        ${scan({ orchestrator, columns: sql`id, payload_bytes, priority, available_at`, limit: sql`${value('limit')}`, lock })}
      ), numbered AS MATERIALIZED (
        SELECT free.id AS free_id, payload_bytes AS bytes, row_number() OVER ordered AS number,
               sum(payload_bytes) OVER ordered - payload_bytes AS bytes_before
          FROM free WINDOW ordered AS (${inClaimOrder})
      ), claimed AS (
        UPDATE dispatch_queue
           SET ${takenBy(sql`slot_machine`, sql`coalesce(slot_lease_ms, claim_timeout_ms, ${value('defaultLeaseMs')}::integer)`)}
          FROM numbered JOIN slots USING (number)
         WHERE id = free_id AND (bytes_before = 0 OR bytes_before < ${value('maxBytes')}::bigint) AND ${claimable}
        RETURNING dispatch_queue.*, number
      )
      SELECT ${columns}, number - 1 FROM claimed ${inClaimOrder}`,
  )

const claimOneStatement = forEachBeginning('claim_next_one', claimOne)
const claimManyStatement = forEachBeginning('claim_next_many', claimMany)
const claimForSlotsStatement = forEachBeginning('claim_next_slots', claimForSlots)

/**
 * Takes up to `limit` pieces of work, best priority and longest due first, and answers them in that order.
 * Rows that others are taking at this moment are passed over, so callers never wait for each other and never get
 * the same row. A lost answer is recovered through what a poll lists as held.
 *
 * @param from rows before this place are not looked at: claimed rows are dead entries of the index until a vacuum may remove
 *   them, and all of them stand before the first claimable row
 */
export function scanForClaims(db: Db, input: ClaimNextInput, from?: Place): Promise<Scan> {
  const { limit, maxBytes, ...rest } = input
  const values = { ...rest, ...from, machineId: input.machineId ?? null, leaseMs: input.leaseMs ?? null }
  return asScan(() =>
    limit === 1
      ? claimOneStatement(db, from)(db, values)
      : claimManyStatement(db, from)(db, { ...values, limit, maxBytes }),
  )
}

/**
 * Takes one piece of work for each of several callers, as {@link scanForClaims} does for one.
 *
 * @param input its `maxBytes` counts for all of them together: the first caller is always served
 */
export function scanForSlots(
  db: Db,
  input: Pick<ClaimNextInput, 'orchestratorId' | 'maxBytes' | 'defaultLeaseMs'> & { slots: readonly Slot[] },
  from?: Place,
): Promise<Scan<SlotClaim>> {
  const { slots, ...rest } = input
  const values = { ...rest, ...from, slots: JSON.stringify(slots), limit: slots.length }
  return asScan(() => claimForSlotsStatement(db, from)(db, values))
}

interface Positioned {
  queueId: number
  priority: number
  availableAt: string
  tookMs: number
}

async function asScan<Found extends Positioned>(
  run: () => Promise<Found[]>,
): Promise<Scan<Omit<Found, 'priority' | 'availableAt' | 'tookMs'>>> {
  try {
    const rows = await run()
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
