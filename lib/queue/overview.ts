import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { retryRead } from '@/lib/db/retry'
import { nullable, read, statement } from '@/lib/db/statement'

/** Rows of one state are counted up to here. */
const COUNT_LIMIT = 10_000
/** So many finished rows are looked at, the newest first. */
const RECENT_LIMIT = 25_000
const HELD_LIMIT = 50_000
/** Pairs of orchestrator and priority that are looked at. */
const GROUP_LIMIT = 1_000
const TIMED_LIMIT = 2_000

const spans = { hour: { length: '1 hour', step: '1 minute' }, day: { length: '1 day', step: '15 minutes' } }
export type Span = keyof typeof spans

const limit = (rows: number) => sql.raw(`LIMIT ${rows}`)
const ofGroup = sql`orchestrator_id = known.orchestrator_id AND priority = known.priority AND claimed_at IS NULL`
const countIn = (condition: SQL) => sql`(SELECT count(*) FROM (
  SELECT FROM known, LATERAL (
    SELECT FROM dispatch_queue WHERE ${ofGroup} AND ${condition} ${limit(COUNT_LIMIT + 1)}) AS found
  ${limit(COUNT_LIMIT + 1)}) AS counted)`

// The pairs of orchestrator and priority are found by jumping from one to the next in the index of unclaimed rows, so that
// neither a million queued nor a million scheduled rows are read for a count of the other.
const nowStatement = (name: string, own: SQL) =>
  statement(
    name,
    {
      queued: read.number,
      scheduled: read.number,
      claimed: read.number,
      stale: read.number,
      staleForMs: nullable(read.number),
      oldestQueuedMs: nullable(read.number),
      unattended: read.text,
      at: read.instant,
    },
    sql`WITH RECURSIVE groups AS (
        (SELECT orchestrator_id, priority FROM dispatch_queue WHERE claimed_at IS NULL AND ${own}
          ORDER BY orchestrator_id, priority LIMIT 1)
        UNION ALL
        SELECT next.* FROM groups, LATERAL (
          SELECT orchestrator_id, priority FROM dispatch_queue
           WHERE claimed_at IS NULL AND (orchestrator_id, priority) > (groups.orchestrator_id, groups.priority) AND ${own}
           ORDER BY orchestrator_id, priority LIMIT 1) AS next
      ), known AS MATERIALIZED (SELECT * FROM groups ${limit(GROUP_LIMIT)}),
      waiting AS MATERIALIZED (
        SELECT known.orchestrator_id, min(first.available_at) AS since
          FROM known, LATERAL (SELECT available_at FROM dispatch_queue WHERE ${ofGroup} AND available_at <= now()
                                ORDER BY available_at LIMIT 1) AS first
         GROUP BY known.orchestrator_id
      ), held AS (
        SELECT count(*) FILTER (WHERE claim_expires_at >= now()) AS claimed,
               count(*) FILTER (WHERE claim_expires_at < now()) AS stale,
               now() - min(claim_expires_at) FILTER (WHERE claim_expires_at < now()) AS stale_for
          FROM (SELECT claim_expires_at FROM dispatch_queue WHERE claimed_at IS NOT NULL AND ${own}
                ${limit(HELD_LIMIT)}) AS found
      ), unattended AS (
        SELECT waiting.orchestrator_id AS "orchestratorId",
               floor(1000 * extract(epoch FROM now() - seen.at)) AS "machineSeenMs"
          FROM waiting, LATERAL (SELECT max(last_seen_at) AS at FROM machines
                                  WHERE machines.orchestrator_id = waiting.orchestrator_id) AS seen
         WHERE since < now() - interval '2 minutes' AND (seen.at > now() - interval '5 minutes') IS NOT TRUE
         ORDER BY since LIMIT 5
      )
      SELECT ${countIn(sql`available_at <= now()`)}, ${countIn(sql`available_at > now()`)},
             held.claimed, held.stale, floor(1000 * extract(epoch FROM held.stale_for)),
             (SELECT floor(1000 * extract(epoch FROM now() - min(since))) FROM waiting),
             (SELECT coalesce(jsonb_agg(to_jsonb(unattended)), '[]')::text FROM unattended), now()
        FROM held`,
  )

const recentStatement = (name: string, own: SQL, { length, step }: (typeof spans)[Span]) =>
  statement(
    name,
    {
      series: read.text,
      finished: read.number,
      completedLastHour: read.number,
      failedLastHour: read.number,
      cancelledLastHour: read.number,
      timeToClaimMs: nullable(read.text),
      runTimeMs: nullable(read.text),
    },
    sql`WITH newest AS MATERIALIZED (
        SELECT outcome, finished_at, available_at, claimed_at FROM (
          SELECT outcome, finished_at, available_at, claimed_at, orchestrator_id FROM dispatch_history
           WHERE finished_at > now() - interval '${sql.raw(length)}' ORDER BY finished_at DESC ${limit(RECENT_LIMIT)}) AS found
         WHERE ${own}
      ), bins AS (
        SELECT date_bin('${sql.raw(step)}', finished_at, 'epoch') AS at,
               count(*) FILTER (WHERE outcome = 'completed') AS completed,
               count(*) FILTER (WHERE outcome = 'failed') AS failed
          FROM newest GROUP BY 1 ORDER BY 1
      ), timed AS (
        SELECT percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
                 ORDER BY greatest(0, 1000 * extract(epoch FROM claimed_at - available_at))) AS to_claim,
               percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
                 ORDER BY 1000 * extract(epoch FROM finished_at - claimed_at)) AS running
          FROM (SELECT * FROM newest WHERE outcome = 'completed' AND claimed_at IS NOT NULL ${limit(TIMED_LIMIT)}) AS last
      ), hour AS (
        SELECT outcome FROM newest WHERE finished_at > now() - interval '1 hour'
      )
      SELECT (SELECT coalesce(jsonb_agg(jsonb_build_array(extract(epoch FROM at), completed, failed)), '[]')::text FROM bins),
             (SELECT count(*) FROM newest),
             (SELECT count(*) FROM hour WHERE outcome = 'completed'),
             (SELECT count(*) FROM hour WHERE outcome = 'failed'),
             (SELECT count(*) FROM hour WHERE outcome = 'cancelled'),
             to_jsonb(to_claim)::text, to_jsonb(running)::text
        FROM timed`,
  )

const everyones = sql`true`
const ones = sql`orchestrator_id = ${sql.placeholder('orchestratorId')}`
const now = { all: nowStatement('overview_now', everyones), one: nowStatement('overview_now_one', ones) }
const recent = {
  hour: {
    all: recentStatement('overview_hour', everyones, spans.hour),
    one: recentStatement('overview_hour_one', ones, spans.hour),
  },
  day: {
    all: recentStatement('overview_day', everyones, spans.day),
    one: recentStatement('overview_day_one', ones, spans.day),
  },
}

const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text))

/**
 * For people: how the queue is, and how the last hour or day was; two statements, whose cost has a bound. Counts end at
 * 10,001; figures of finished work are of the newest 25,000 at most, which `isPartial` says.
 */
export async function overview(db: Db, { orchestratorId, span }: { orchestratorId?: string | undefined; span: Span }) {
  const which = orchestratorId === undefined ? 'all' : 'one'
  const values = { orchestratorId }
  const [[live], [past]] = await Promise.all([
    retryRead(() => now[which](db, values)),
    retryRead(() => recent[span][which](db, values)),
  ])
  if (live === undefined || past === undefined) throw new Error('SELECT without FROM gave no row')
  const { series, finished, timeToClaimMs, runTimeMs, ...counts } = past
  return {
    ...live,
    unattended: parsed(live.unattended),
    ...counts,
    series: parsed(series),
    isPartial: finished >= RECENT_LIMIT,
    timeToClaimMs: parsed(timeToClaimMs),
    runTimeMs: parsed(runTimeMs),
  }
}
