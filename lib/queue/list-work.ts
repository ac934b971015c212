import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { retryRead } from '@/lib/db/retry'
import { nullable, query, read } from '@/lib/db/statement'
import { finalStates, isLiveState, liveState, liveStateCondition, type WorkState } from '@/lib/queue/state'

/** A text is looked for within the newest so many rows that match the other filters. */
const SEARCHED_ROWS = 10_000

export interface WorkFilter {
  orchestratorId?: string | undefined
  state?: WorkState | undefined
  /** The last holder. */
  machineId?: string | undefined
  /** An id, the beginning of a dedupe key, or a part of the payload's text. */
  q?: string | undefined
  /** Rows with a smaller id than this. */
  before?: number | undefined
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
}
const before = sql.raw('id, orchestrator_id')
const after = sql.raw('priority, attempts, max_attempts, claimed_by')
const live = sql`${before}, ${liveState} AS state, ${after}, claim_expires_at, progress, created_at, NULL::timestamptz AS finished_at, last_error`
const finished = sql`${before}, outcome AS state, ${after}, NULL::timestamptz AS claim_expires_at, progress, created_at, finished_at, last_error`

/** For people: live work and history as one list, newest id first. @returns at most `limit` rows and where the next page starts */
export async function listWork(db: Db, filter: WorkFilter) {
  const rows = await retryRead(() => query(db, summaryReaders, listQuery(filter)))
  const items = rows.slice(0, filter.limit)
  const last = items.at(-1)
  return { items, nextCursor: rows.length > filter.limit && last !== undefined ? `${last.queueId}` : null }
}

function listQuery({ state, limit, ...filter }: WorkFilter): SQL {
  // One row more than asked for tells whether there is a next page.
  const rows = (table: SQL, columns: SQL, condition: SQL) => pageOf(table, columns, condition, filter, limit + 1)
  const liveRows = rows(sql`dispatch_queue`, live, state && isLiveState(state) ? liveStateCondition[state] : sql`true`)
  const final = finalStates.find((outcome) => outcome === state)
  const finishedRows = rows(sql`dispatch_history`, finished, final === undefined ? sql`true` : sql`outcome = ${final}`)
  if (state === undefined) {
    return sql`SELECT * FROM (${liveRows} UNION ALL ${finishedRows}) AS work ORDER BY id DESC LIMIT ${limit + 1}`
  }
  return isLiveState(state) ? liveRows : finishedRows
}

function pageOf(
  table: SQL,
  columns: SQL,
  condition: SQL,
  filter: Omit<WorkFilter, 'state' | 'limit'>,
  rows: number,
): SQL {
  const conditions = [
    condition,
    ...(filter.orchestratorId === undefined ? [] : [sql`orchestrator_id = ${filter.orchestratorId}`]),
    ...(filter.machineId === undefined ? [] : [sql`claimed_by = ${filter.machineId}`]),
    ...(filter.before === undefined ? [] : [sql`id < ${filter.before}`]),
  ]
  const matching = sql`FROM ${table} WHERE ${sql.join(conditions, sql` AND `)} ORDER BY id DESC`
  if (filter.q === undefined) return sql`(SELECT ${columns} ${matching} LIMIT ${rows})`
  return sql`(SELECT ${columns} FROM (SELECT * ${matching} LIMIT ${SEARCHED_ROWS}) AS searched
               WHERE id::text = ${filter.q} OR starts_with(dedupe_key, ${filter.q})
                  OR strpos(lower(payload::text), lower(${filter.q})) > 0
               ORDER BY id DESC LIMIT ${rows})`
}
