import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { retryRead } from '@/lib/db/retry'
import { nullable, read, statement } from '@/lib/db/statement'
import { QueueError } from '@/lib/queue/errors'
import { explainWaiting } from '@/lib/queue/explain-waiting'
import { liveState } from '@/lib/queue/state'

/** Rows ahead are counted up to here. */
const AHEAD_LIMIT = 10_000

const value = sql.placeholder
const shared =
  sql.raw(`orchestrator_id, priority, attempts, max_attempts, claimed_by, progress, progress_note, created_at, last_error,
  payload::text, dedupe_key, enqueue_id, available_at, claimed_at, claim_timeout_ms, attempt_log::text`)
const isVisible = sql`id = ${value('queueId')} AND (${value('orchestratorId')}::text IS NULL OR orchestrator_id = ${value('orchestratorId')}::text)`

const showStatement = statement(
  'show_work',
  {
    queueId: read.id,
    state: read.text,
    claimExpiresAt: nullable(read.instant),
    finishedAt: nullable(read.instant),
    result: nullable(read.json),
    orchestratorId: read.text,
    priority: read.number,
    attempts: read.number,
    maxAttempts: read.number,
    claimedBy: nullable(read.text),
    progress: nullable(read.number),
    progressNote: nullable(read.text),
    createdAt: read.instant,
    lastError: nullable(read.text),
    payload: read.json,
    dedupeKey: nullable(read.text),
    enqueueId: nullable(read.text),
    availableAt: read.instant,
    claimedAt: nullable(read.instant),
    claimTimeoutMs: nullable(read.number),
    attemptLog: read.json,
    ahead: read.number,
    machineSeenAt: nullable(read.instant),
    isMachineRecent: read.boolean,
  },
  sql`WITH work AS (
        SELECT id, ${liveState} AS state, claim_expires_at, NULL::timestamptz AS finished_at, NULL::text AS result, ${shared}
          FROM dispatch_queue WHERE ${isVisible}
        UNION ALL
        SELECT id, outcome, NULL, finished_at, result::text, ${shared} FROM dispatch_history WHERE ${isVisible}
      ), seen AS (
        SELECT max(last_seen_at) AS machine_seen_at FROM machines WHERE orchestrator_id = (SELECT orchestrator_id FROM work)
      )
      SELECT work.*,
             (SELECT count(*) FROM (
                SELECT FROM dispatch_queue AS other
                 WHERE other.orchestrator_id = work.orchestrator_id AND other.claimed_at IS NULL AND other.available_at <= now()
                   AND (other.priority, other.available_at, other.id) < (work.priority, work.available_at, work.id)
                 LIMIT ${sql.raw(`${AHEAD_LIMIT}`)}) AS rivals),
             seen.machine_seen_at,
             (seen.machine_seen_at > now() - interval '2 minutes') IS TRUE
        FROM work, seen`,
)

/**
 * One piece of work with everything that is known of it, and a sentence that says why nobody has claimed it.
 *
 * @param input.orchestratorId only work of this orchestrator may be seen; undefined: all
 * @throws {QueueError} not-found
 */
export async function showWork(db: Db, input: { queueId: number; orchestratorId?: string | undefined }) {
  const [row] = await retryRead(() => showStatement(db, { ...input, orchestratorId: input.orchestratorId ?? null }))
  if (row === undefined)
    throw new QueueError({ code: 'not-found' }, `There is no work ${input.queueId}; it may have been pruned.`)
  const { ahead, machineSeenAt, isMachineRecent, ...work } = row
  const explanation = explainWaiting({
    ...work,
    ahead,
    isAheadCapped: ahead >= AHEAD_LIMIT,
    machineSeenAt,
    isMachineRecent,
  })
  return { ...work, explanation }
}
