import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { retryRead } from '@/lib/db/retry'
import { nullable, query, read } from '@/lib/db/statement'
import { isLiveState, liveState, liveStateCondition, type WorkState } from '@/lib/queue/state'

/** A text is looked for within the newest so many rows that match the other filters. */
const SEARCHED_ROWS = 10_000
/** A page looks through so many rows of a table at most, and is short when they hold too few that match. */
const SCANNED_ROWS = 50_000

export interface WorkFilter {
  orchestratorId?: string | undefined
  state?: WorkState | undefined
  /** The last holder. */
  machineId?: string | undefined
  /** An id, the beginning of a dedupe key, or a part of the payload's text. */
  q?: string | undefined
  /** Rows that were enqueued so many milliseconds ago, or longer. */
  minAgeMs?: number | undefined
  /** Newest unless told. */
  order?: 'newest' | 'oldest' | undefined
  /** Rows behind the one with this id, in the order of the list. */
  after?: number | undefined
  limit: number
}

const summaryReaders = {
  queueId: read.id,
  orchestratorId: read.text,
  state: read.text,
  priority: read.number,
  attempts: read.number,
  maxAttempts: read.number,
  claimedBy: nullable(read.text),
  claimExpiresAt: nullable(read.instant),
  progress: nullable(read.number),
  createdAt: read.instant,
  finishedAt: nullable(read.instant),
  lastError: nullable(read.text),
  dedupeKey: nullable(read.text),
  progressNote: nullable(read.text),
  claimedAt: nullable(read.instant),
  availableAt: read.instant,
  payloadExcerpt: nullable(read.text),
}
const before = sql.raw('id, orchestrator_id')
const after = sql.raw('priority, attempts, max_attempts, claimed_by')
/** A payload over this is not looked into: it lies outside the row, and would have to be read whole. */
const excerpt = (bytes: SQL) => sql`CASE WHEN ${bytes} <= 1500 THEN left(payload::text, 200) END`
const last = sql.raw('last_error, dedupe_key, progress_note, claimed_at, available_at')
const live = sql`${before}, ${liveState} AS state, ${after}, claim_expires_at, progress, created_at, NULL::timestamptz AS finished_at, ${last}, ${excerpt(sql`payload_bytes`)}`
const finished = sql`${before}, outcome AS state, ${after}, NULL::timestamptz AS claim_expires_at, progress, created_at, finished_at, ${last}, ${excerpt(sql`pg_column_size(payload)`)}`

/**
 * For people: live work and history as one list, newest id first or oldest. The cost of a page has a bound: it may be short, or empty, and
 * yet have a next one, which goes on from where this one stopped looking.
 *
 * @returns at most `limit` rows and where the next page starts
 */
export async function listWork(db: Db, filter: WorkFilter) {
  const rows = await retryRead(() => query(db, summaryReaders, listQuery(filter)))
  const items = rows.slice(0, filter.limit)
  const last = items.at(-1)
  if (rows.length > filter.limit && last !== undefined) return { items, nextCursor: `${last.queueId}` }
  const end = filter.q === undefined ? await endOfScan(db, filter) : null
  return { items, nextCursor: end === null ? null : `${end}` }
}

type Table = 'dispatch_queue' | 'dispatch_history'

const tablesOf = ({ state }: WorkFilter): Table[] =>
  state === undefined
    ? ['dispatch_queue', 'dispatch_history']
    : [isLiveState(state) ? 'dispatch_queue' : 'dispatch_history']

/** Held and unsuccessful work has an index of its own, and is found however little there is of it. */
const isIndexed = ({ state }: WorkFilter) =>
  state !== undefined && ['claimed', 'stale', 'failed', 'cancelled'].includes(state)

/** The id at which a page stopped looking; null when there is nothing behind it. */
async function endOfScan(db: Db, filter: WorkFilter): Promise<number | null> {
  if (isIndexed(filter)) return null
  const ends = tablesOf(filter).map(
    (table) =>
      sql`(SELECT id FROM ${sql.identifier(table)} WHERE ${behind(filter)} ORDER BY id ${direction(filter)} LIMIT 1 OFFSET ${sql.raw(`${SCANNED_ROWS - 1}`)})`,
  )
  const [row] = await retryRead(() =>
    query(
      db,
      { id: nullable(read.id) },
      sql`SELECT ${filter.order === 'oldest' ? sql`least` : sql`greatest`}(${sql.join(ends, sql`, `)})`,
    ),
  )
  return row?.id ?? null
}

const direction = ({ order }: WorkFilter) => (order === 'oldest' ? sql`ASC` : sql`DESC`)

function behind({ after, order }: WorkFilter): SQL {
  if (after === undefined) return sql`true`
  return order === 'oldest' ? sql`id > ${after}` : sql`id < ${after}`
}

function listQuery(filter: WorkFilter): SQL {
  const pages = tablesOf(filter).map((table) => pageOf(table, filter))
  return sql`SELECT * FROM (${sql.join(pages, sql` UNION ALL `)}) AS work ORDER BY id ${direction(filter)} LIMIT ${sql.raw(`${filter.limit + 1}`)}`
}

function stateCondition(table: Table, state: WorkState | undefined): SQL {
  if (state === undefined) return sql`true`
  return table === 'dispatch_queue' && isLiveState(state) ? liveStateCondition[state] : sql`outcome = ${state}`
}

function pageOf(table: Table, filter: WorkFilter): SQL {
  const conditions = [
    stateCondition(table, filter.state),
    ...(filter.orchestratorId === undefined ? [] : [sql`orchestrator_id = ${filter.orchestratorId}`]),
    ...(filter.machineId === undefined ? [] : [sql`claimed_by = ${filter.machineId}`]),
    ...(filter.minAgeMs === undefined
      ? []
      : [sql`created_at <= now() - ${filter.minAgeMs} * interval '1 millisecond'`]),
  ]
  const columns = table === 'dispatch_queue' ? live : finished
  const matching = sql`SELECT * FROM (${sourceOf(table, filter)}) AS scanned WHERE ${sql.join(conditions, sql` AND `)}
    ORDER BY id ${direction(filter)}`
  // One row more than asked for tells whether there is a next page.
  const rows = sql.raw(`${filter.limit + 1}`)
  if (filter.q === undefined) return sql`(SELECT ${columns} FROM (${matching} LIMIT ${rows}) AS matching)`
  return sql`(SELECT ${columns} FROM (${matching} LIMIT ${sql.raw(`${SEARCHED_ROWS}`)}) AS searched
               WHERE id::text = ${filter.q} OR starts_with(dedupe_key, ${filter.q})
                  OR strpos(lower(payload::text), lower(${filter.q})) > 0
               ORDER BY id ${direction(filter)} LIMIT ${rows})`
}

// OFFSET 0 keeps the planner from walking the primary key for what a partial index gives at once.
function sourceOf(table: Table, filter: WorkFilter): SQL {
  const range = behind(filter)
  if (!isIndexed(filter))
    return sql`SELECT * FROM ${sql.identifier(table)} WHERE ${range} ORDER BY id ${direction(filter)} LIMIT ${sql.raw(`${SCANNED_ROWS}`)}`
  return table === 'dispatch_queue'
    ? sql`SELECT * FROM dispatch_queue WHERE claimed_at IS NOT NULL AND ${range} OFFSET 0`
    : sql`SELECT * FROM dispatch_history WHERE outcome <> 'completed' AND outcome = ${filter.state} AND ${range}`
}
