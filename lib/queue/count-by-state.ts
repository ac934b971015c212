import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'
import { finalStates, liveStateCondition, liveStates, type WorkState } from '@/lib/queue/state'

export type StateCounts = Record<WorkState, number>

const live = liveStates.map(
  (state) => sql`count(*) FILTER (WHERE ${liveStateCondition[state]}) AS ${sql.identifier(state)}`,
)
const recent = finalStates.map(
  (state) => sql`count(*) FILTER (WHERE outcome = ${sql.raw(`'${state}'`)}) AS ${sql.identifier(state)}`,
)

const countStatement = statement(
  'count_by_state',
  {
    queued: read.number,
    scheduled: read.number,
    claimed: read.number,
    stale: read.number,
    completed: read.number,
    failed: read.number,
    cancelled: read.number,
  },
  sql`SELECT live.*, recent.*
        FROM (SELECT ${sql.join(live, sql`, `)} FROM dispatch_queue) AS live,
             (SELECT ${sql.join(recent, sql`, `)} FROM dispatch_history WHERE finished_at > now() - interval '1 hour') AS recent`,
)

/** How much work is in each state now, and how much has finished in the last hour; one statement, so that the numbers agree. */
export async function countByState(db: Db): Promise<StateCounts> {
  const [row] = await countStatement(db, {})
  if (row === undefined) throw new Error('SELECT count(*) gave no row')
  return row
}
