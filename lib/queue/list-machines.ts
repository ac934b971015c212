import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { retryRead } from '@/lib/db/retry'
import { nullable, read, statement } from '@/lib/db/statement'

const LISTED = 200
/** Wins are counted in so many of the newest finished rows of the last hour. */
const COUNTED = 10_000

const value = sql.placeholder

const listMachinesStatement = statement(
  'list_machines',
  {
    orchestratorId: read.text,
    machineId: read.text,
    version: nullable(read.text),
    lastSeenAt: read.instant,
    seenMs: read.number,
    holding: read.text,
    holds: read.number,
    completedLastHour: read.number,
  },
  sql`WITH listed AS MATERIALIZED (
        SELECT * FROM machines
         WHERE (${value('orchestratorId')}::text IS NULL OR orchestrator_id = ${value('orchestratorId')}::text)
         ORDER BY last_seen_at DESC LIMIT ${sql.raw(`${LISTED}`)}
      ), wins AS (
        SELECT orchestrator_id, claimed_by, count(*) AS completed FROM (
          SELECT orchestrator_id, claimed_by, outcome FROM dispatch_history
           WHERE finished_at > now() - interval '1 hour' ORDER BY finished_at DESC LIMIT ${sql.raw(`${COUNTED}`)}) AS newest
         WHERE outcome = 'completed' GROUP BY 1, 2
      )
      SELECT listed.orchestrator_id, listed.machine_id, listed.version, listed.last_seen_at,
             floor(1000 * extract(epoch FROM now() - listed.last_seen_at)),
             (SELECT coalesce(jsonb_agg(id ORDER BY id), '[]')::text FROM (
                SELECT id FROM dispatch_queue WHERE orchestrator_id = listed.orchestrator_id
                   AND claimed_by = listed.machine_id AND claimed_at IS NOT NULL LIMIT 10) AS first),
             (SELECT count(*) FROM (
                SELECT FROM dispatch_queue WHERE orchestrator_id = listed.orchestrator_id
                   AND claimed_by = listed.machine_id AND claimed_at IS NOT NULL LIMIT 1001) AS held),
             coalesce(wins.completed, 0)
        FROM listed LEFT JOIN wins ON wins.orchestrator_id = listed.orchestrator_id AND wins.claimed_by = listed.machine_id
       ORDER BY listed.last_seen_at DESC`,
)

/** For people: the machines that were seen last, what they hold (the first ten ids), and what they completed in the last hour. */
export async function listMachines(db: Db, { orchestratorId }: { orchestratorId?: string | undefined }) {
  const rows = await retryRead(() => listMachinesStatement(db, { orchestratorId: orchestratorId ?? null }))
  return rows.map((row) => ({ ...row, holding: JSON.parse(row.holding) }))
}
