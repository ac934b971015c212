import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { retryRead } from '@/lib/db/retry'
import { nullable, read, statement } from '@/lib/db/statement'
import { forEachScan } from '@/lib/queue/claimable'

export interface WaitersQuestion {
  /** Each orchestrator once, with how many wait for its work: more claimable rows than that are not counted. */
  orchestrators: readonly { orchestratorId: string; waiters: number }[]
  /** Machines of which it has to be found out whether they hold claims. */
  machines: readonly { orchestratorId: string; machineId: string }[]
}

export interface WaitersAnswer {
  /** The orchestrators that have claimable work, and how many rows of it. */
  claimable: Map<string, number>
  /** Those of the machines that hold claims. */
  holding: { orchestratorId: string; machineId: string }[]
}

const value = sql.placeholder

const askStatement = forEachScan('ask_for_waiters', (name, scan) =>
  statement(
    name,
    { orchestratorId: read.text, machineId: nullable(read.text), rows: read.number },
    sql`SELECT asked."orchestratorId", NULL::text AS machine_id, found.rows
        FROM jsonb_to_recordset(${value('orchestrators')}::jsonb) AS asked("orchestratorId" text, waiters integer),
             LATERAL (SELECT count(*) AS rows FROM (
               ${scan({ orchestrator: sql`asked."orchestratorId"`, columns: sql`id`, limit: sql`asked.waiters` })}) AS claimable) AS found
       WHERE found.rows > 0
      UNION ALL
      SELECT asked."orchestratorId", asked."machineId", 0
        FROM jsonb_to_recordset(${value('machines')}::jsonb) AS asked("orchestratorId" text, "machineId" text)
       WHERE EXISTS (SELECT FROM dispatch_queue
                      WHERE orchestrator_id = asked."orchestratorId" AND claimed_by = asked."machineId"
                        AND claimed_at IS NOT NULL)`,
  ),
)

/** Asks for everybody who waits, whatever their number, in one statement: where there is work, and which machines hold claims. */
export async function askForWaiters(db: Db, question: WaitersQuestion): Promise<WaitersAnswer> {
  const rows = await retryRead(() =>
    askStatement(db)(db, {
      orchestrators: JSON.stringify(question.orchestrators),
      machines: JSON.stringify(question.machines),
    }),
  )
  const claimable = new Map<string, number>()
  const holding: WaitersAnswer['holding'] = []
  for (const { orchestratorId, machineId, rows: count } of rows) {
    if (machineId === null) claimable.set(orchestratorId, count)
    else holding.push({ orchestratorId, machineId })
  }
  return { claimable, holding }
}
