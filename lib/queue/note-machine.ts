import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { statement } from '@/lib/db/statement'

const value = sql.placeholder

const noteMachineStatement = statement(
  'note_machine',
  {},
  sql`INSERT INTO machines (orchestrator_id, machine_id, version)
      VALUES (${value('orchestratorId')}, ${value('machineId')}, ${value('version')}::text)
      ON CONFLICT (orchestrator_id, machine_id) DO UPDATE
         SET last_seen_at = now(), version = coalesce(excluded.version, machines.version)
       WHERE machines.last_seen_at < now() - interval '30 seconds' OR (excluded.version IS NOT NULL AND machines.version IS DISTINCT FROM excluded.version)`,
)

/** Notes that a machine was seen, with its client's version; a row is written at most every 30 s per machine. */
export async function noteMachine(
  db: Db,
  machine: { orchestratorId: string; machineId: string; version: string | null },
): Promise<void> {
  await noteMachineStatement(db, machine)
}
