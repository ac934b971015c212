import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { retryRead } from '@/lib/db/retry'
import { read, statement } from '@/lib/db/statement'
import type { Claim } from '@/lib/queue/claim'
import { type ClaimOrderScan, forEachScan } from '@/lib/queue/claimable'
import type { LostReason } from '@/lib/queue/errors'
import { explainLostClaims } from '@/lib/queue/explain-lost-claims'
import { NOTE_MAX_LENGTH } from '@/lib/queue/heartbeat'
import { toStorableText } from '@/lib/queue/storable-text'

/** At most so many open claims are handed back in one poll; the rest come in the next one. */
const HELD_LIMIT = 100

interface HeldClaim {
  queueId: number
  claimToken: string
  progress?: number | undefined
  note?: string | undefined
}

export interface PollInput {
  orchestratorId: string
  machineId?: string | undefined
  /** At most so many rows under `queued`. */
  limit: number
  /** `held` ends early at this many bytes of payload, but never before its first row. */
  maxBytes: number
  /** The claims that the caller works on: each is renewed, or named as lost. No queueId twice. */
  holding?: readonly HeldClaim[] | undefined
}

export interface PollAnswer {
  queued: { queueId: number; priority: number; attempts: number; createdAt: string; availableAt: string }[]
  held: Claim[]
  renewed: { queueId: number; claimExpiresAt: string; leaseMs: number }[]
  lost: { queueId: number; reason: LostReason }[]
}

const value = sql.placeholder

// One row per entry of any list. A column that a list does not have is NULL there, and is not read.
const readers = {
  list: read.text,
  queueId: read.id,
  priority: read.number,
  attempts: read.number,
  createdAt: read.instant,
  availableAt: read.instant,
  claimToken: read.text,
  payload: read.json,
  claimedAt: read.instant,
  claimExpiresAt: read.instant,
  leaseMs: read.number,
}

// Rows of equal priority are turned by a hash of machine and row, so that machines which list the same page at the
// same moment rarely race for the same row.
const lists = (scan: ClaimOrderScan) => sql`
  page AS (
    ${scan({
      orchestrator: sql`${value('orchestratorId')}`,
      columns: sql`id, priority, attempts, created_at, available_at`,
      limit: sql`${value('limit')}`,
    })}
  ), held AS (
    SELECT *, sum(payload_bytes) OVER (ORDER BY claimed_at, id) - payload_bytes AS bytes_before FROM dispatch_queue
     WHERE orchestrator_id = ${value('orchestratorId')} AND claimed_by = ${value('machineId')}::text
       AND claimed_at IS NOT NULL AND id <> ALL (ARRAY(SELECT "queueId" FROM holding))
     ORDER BY claimed_at, id LIMIT ${sql.raw(`${HELD_LIMIT}`)}
  )
  SELECT * FROM (
    SELECT 'queued' AS list, id, priority, attempts, created_at, available_at, NULL::uuid AS claim_token, NULL::text AS payload,
           NULL::timestamptz AS claimed_at, NULL::timestamptz AS claim_expires_at, NULL::integer AS lease_ms,
           row_number() OVER (ORDER BY priority,
             CASE WHEN ${value('machineId')}::text IS NULL THEN 0 ELSE hashtextextended(${value('machineId')}::text, id) END,
             available_at, id) AS place
      FROM page
    UNION ALL
    SELECT 'held', id, priority, attempts, created_at, available_at, claim_token, payload::text, claimed_at, claim_expires_at,
           lease_ms, row_number() OVER (ORDER BY claimed_at, id)
      FROM held WHERE bytes_before = 0 OR bytes_before < ${value('maxBytes')}::bigint`
const inPlace: SQL = sql`) AS answer ORDER BY list, place`

const pollStatement = forEachScan('poll', (name, scan) =>
  statement(
    name,
    readers,
    sql`WITH holding AS (SELECT NULL::bigint AS "queueId" WHERE false), ${lists(scan)} ${inPlace}`,
  ),
)

// The claims are locked in the order of their ids, so that two overlapping polls wait for each other and never deadlock.
const pollRenewingStatement = forEachScan('poll_renewing', (name, scan) =>
  statement(
    name,
    readers,
    sql`WITH holding AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(${value('holding')}::jsonb)
          AS entry("queueId" bigint, "claimToken" uuid, progress smallint, note text)
      ), own AS MATERIALIZED (
        SELECT queue.id FROM dispatch_queue AS queue JOIN holding ON holding."queueId" = queue.id
         WHERE queue.orchestrator_id = ${value('orchestratorId')} AND queue.claim_token = holding."claimToken"
         ORDER BY queue.id FOR UPDATE OF queue
      ), renewed AS (
        UPDATE dispatch_queue AS queue
           SET claimed_at = coalesce(queue.claimed_at, now()),
               claim_expires_at = now() + queue.lease_ms * interval '1 millisecond',
               progress = coalesce(holding.progress, queue.progress),
               progress_note = coalesce(holding.note, queue.progress_note)
          FROM own, holding
         WHERE queue.id = own.id AND holding."queueId" = own.id
           AND queue.orchestrator_id = ${value('orchestratorId')} AND queue.claim_token = holding."claimToken"
        RETURNING queue.id, queue.claim_expires_at, queue.lease_ms
      ), ${lists(scan)}
      UNION ALL
      SELECT 'renewed', id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, claim_expires_at, lease_ms, id FROM renewed ${inPlace}`,
  ),
)

/**
 * Lists what may be claimed, in claim order, and what this machine still holds; renews the claims named under
 * `holding` and says which of them are lost, and why. One statement; a second, which only reads, when some are lost.
 * Without `holding` nothing is written.
 */
export async function poll(db: Db, input: PollInput): Promise<PollAnswer> {
  const { holding = [], ...rest } = input
  const values = { ...rest, machineId: input.machineId ?? null }
  const rows =
    holding.length === 0
      ? await retryRead(() => pollStatement(db)(db, values))
      : await pollRenewingStatement(db)(db, { ...values, holding: holdingJson(holding) })

  const of = (list: string) => rows.filter((row) => row.list === list)
  const renewed = of('renewed').map(({ queueId, claimExpiresAt, leaseMs }) => ({ queueId, claimExpiresAt, leaseMs }))
  return {
    queued: of('queued').map(({ queueId, priority, attempts, createdAt, availableAt }) => ({
      queueId,
      priority,
      attempts,
      createdAt,
      availableAt,
    })),
    held: of('held').map(({ queueId, claimToken, payload, attempts, claimedAt, claimExpiresAt, leaseMs }) => ({
      queueId,
      claimToken,
      payload,
      attempts,
      claimedAt,
      claimExpiresAt,
      leaseMs,
    })),
    renewed,
    lost: await findLost(db, input.orchestratorId, holding, renewed),
  }
}

const holdingJson = (holding: readonly HeldClaim[]) =>
  JSON.stringify(
    holding.map(({ note, ...entry }) => ({
      ...entry,
      note: note === undefined ? null : toStorableText(note, NOTE_MAX_LENGTH),
    })),
  )

async function findLost(
  db: Db,
  orchestratorId: string,
  holding: readonly HeldClaim[],
  renewed: PollAnswer['renewed'],
): Promise<PollAnswer['lost']> {
  const kept = new Set(renewed.map(({ queueId }) => queueId))
  const missing = holding.filter(({ queueId }) => !kept.has(queueId))
  if (missing.length === 0) return []
  const reasons = await explainLostClaims(db, orchestratorId, missing)
  return missing.map(({ queueId }) => ({ queueId, reason: reasons.get(queueId)?.reason ?? 'unknown' }))
}
