import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { retryRead } from '@/lib/db/retry'
import { nullable, read, statement } from '@/lib/db/statement'
import { liveStateCondition } from '@/lib/queue/state'

export type LiveWork = Awaited<ReturnType<typeof listRows>>[number]

/** A payload over this is not looked into: it lies outside the row, and would have to be read whole. */
const SMALL_PAYLOAD_BYTES = 1_500
const EXCERPT_CHARACTERS = 200

/** Durations are computed here, so that the database's clock is the only one. */
const milliseconds = (interval: SQL) => sql`floor(extract(epoch FROM ${interval}) * 1000)`

const columns = sql`id, orchestrator_id, claimed_by, attempts, max_attempts, progress, progress_note, dedupe_key,
  CASE WHEN payload_bytes <= ${sql.raw(`${SMALL_PAYLOAD_BYTES}`)} THEN left(payload::text, ${sql.raw(`${EXCERPT_CHARACTERS}`)}) END,
  payload_bytes,
  ${milliseconds(sql`now() - created_at`)},
  ${milliseconds(sql`claim_expires_at - now()`)}`

const listed = (state: 'queued' | 'claimed' | 'stale', order: SQL) =>
  sql`(SELECT ${sql.raw(`'${state}'`)}, ${columns} FROM dispatch_queue WHERE ${liveStateCondition[state]}
        ORDER BY ${order} LIMIT ${sql.placeholder('limit')})`

const listStatement = statement(
  'list_live_work',
  {
    state: read.text,
    queueId: read.id,
    orchestratorId: read.text,
    claimedBy: nullable(read.text),
    attempts: read.number,
    maxAttempts: read.number,
    progress: nullable(read.number),
    progressNote: nullable(read.text),
    dedupeKey: nullable(read.text),
    payloadExcerpt: nullable(read.text),
    payloadBytes: read.number,
    ageMs: read.number,
    leaseLeftMs: nullable(read.number),
  },
  sql.join(
    [
      listed('queued', sql`id DESC`),
      listed('claimed', sql`claimed_at DESC, id DESC`),
      listed('stale', sql`claim_expires_at, id`),
    ],
    sql` UNION ALL `,
  ),
)

const listRows = (db: Db, limit: number) => retryRead(() => listStatement(db, { limit }))

/**
 * For people: what waits (newest first), what is being worked on (claimed last first) and what is stale (longest first), at
 * most `limit` of each and all at one instant. Of a small payload the beginning of its JSON is given.
 */
export async function listLiveWork(db: Db, { limit }: { limit: number }) {
  const rows = await listRows(db, limit)
  const inState = (state: string) => rows.filter((row) => row.state === state)
  return { queued: inState('queued'), claimed: inState('claimed'), stale: inState('stale') }
}
