import type { Db } from '@/lib/db/client'
import { type ClaimNextInput, claimNext } from '@/lib/queue/claim-next'
import type { Sql } from '../support/db'
import { newOrchestratorId } from '../support/factories'
import { DEFAULT_LEASE_MS, type Own } from './holders'

/** Puts many rows in: payloads 1 to `count`, of equal priority unless an SQL expression of `n` says otherwise. */
export async function insertMany(
  sql: Sql,
  count: number,
  { orchestratorId = newOrchestratorId(), priority = '0' }: { orchestratorId?: string; priority?: string } = {},
): Promise<string> {
  await sql(
    `INSERT INTO dispatch_queue (orchestrator_id, payload, priority)
     SELECT $1, to_jsonb(n), ${priority} FROM generate_series(1, $2::int) AS n`,
    [orchestratorId, count],
  )
  return orchestratorId
}

/** Claims the next rows of an orchestrator. */
export async function claimNextOf(db: Db, orchestratorId: string, more: Partial<ClaimNextInput> = {}): Promise<Own[]> {
  const input = { orchestratorId, limit: 1, maxBytes: 1_000_000, defaultLeaseMs: DEFAULT_LEASE_MS, ...more }
  return (await claimNext(db, input)).map((claimed) => ({ orchestratorId, ...claimed }))
}

/** Lets the leases of all claims of an orchestrator run out. */
export async function expireAll(sql: Sql, orchestratorId: string): Promise<void> {
  await sql(
    `UPDATE dispatch_queue SET claim_expires_at = now() - interval '1 second'
      WHERE orchestrator_id = $1 AND claimed_at IS NOT NULL`,
    [orchestratorId],
  )
}
