import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { statement } from '@/lib/db/statement'

export interface SeenMachine {
  orchestratorId: string
  machineId: string
  /** Of its client; null when it did not say. */
  version: string | null
}

// In one order, so that two instances which note the same machines wait for each other and never deadlock.
const noteMachinesStatement = statement(
  'note_machines',
  {},
  sql`INSERT INTO machines (orchestrator_id, machine_id, version)
      SELECT seen."orchestratorId", seen."machineId", seen.version
        FROM jsonb_to_recordset(${sql.placeholder('machines')}::jsonb)
          AS seen("orchestratorId" text, "machineId" text, version text)
       ORDER BY 1, 2
      ON CONFLICT (orchestrator_id, machine_id) DO UPDATE
         SET last_seen_at = now(), version = coalesce(excluded.version, machines.version)
       WHERE machines.last_seen_at < now() - interval '30 seconds'
          OR (excluded.version IS NOT NULL AND machines.version IS DISTINCT FROM excluded.version)`,
)

/** Notes that machines were seen, each named once; a row is written at most every 30 s per machine. */
export async function noteMachines(db: Db, machines: readonly SeenMachine[]): Promise<void> {
  await noteMachinesStatement(db, { machines: JSON.stringify(machines) })
}
