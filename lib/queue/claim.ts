import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { isConflict } from '@/lib/db/errors'
import type { JsonText } from '@/lib/db/json-text'
import { read, statement } from '@/lib/db/statement'

export interface ClaimInput {
  orchestratorId: string
  queueId: number
  machineId?: string | undefined
  /** The caller's own token (a UUID), which makes the call safe to repeat. */
  claimToken?: string | undefined
  /** The token of the caller's own open claim, which it takes over under a new token. */
  previousToken?: string | undefined
  /** This claim's lease; else the row's own, else {@link defaultLeaseMs}. */
  leaseMs?: number | undefined
  defaultLeaseMs: number
}

export interface Claim {
  queueId: number
  payload: JsonText
  claimToken: string
  attempts: number
  claimedAt: string
  claimExpiresAt: string
  leaseMs: number
}

export const claimReaders = {
  queueId: read.id,
  payload: read.json,
  claimToken: read.text,
  attempts: read.number,
  claimedAt: read.instant,
  claimExpiresAt: read.instant,
  leaseMs: read.number,
}
export const claimColumns = sql.raw('id, payload::text, claim_token, attempts, claimed_at, claim_expires_at, lease_ms')

const value = sql.placeholder
const isMachines = sql`claimed_by IS NOT DISTINCT FROM ${value('machineId')}::text`
const isRepeat = sql`(${isMachines} AND claim_token = ${value('claimToken')}::uuid)`
/** The row is already this caller's: the same claim again, or its own open claim taken over. Neither counts an attempt. */
const isOwn = sql`(${isMachines} AND claim_token IN (${value('claimToken')}::uuid, ${value('previousToken')}::uuid)) IS TRUE`
const keepsLease = sql`(${isRepeat} AND claim_expires_at >= now()) IS TRUE`
export const leaseFor = sql`coalesce(${value('leaseMs')}::integer, claim_timeout_ms, ${value('defaultLeaseMs')}::integer)`

// The guard stands on the UPDATE itself: a rival that waited for the row's lock checks it again on the new
// version of the row, and matches nothing (Postgres manual, section 13.2.1).
const claimStatement = statement(
  'claim',
  claimReaders,
  sql`UPDATE dispatch_queue
         SET claimed_at = coalesce(claimed_at, now()),
             claimed_by = ${value('machineId')}::text,
             claim_token = coalesce(${value('claimToken')}::uuid, gen_random_uuid()),
             attempts = attempts + CASE WHEN ${isOwn} THEN 0 ELSE 1 END,
             lease_ms = CASE WHEN ${keepsLease} THEN lease_ms ELSE ${leaseFor} END,
             claim_expires_at = CASE WHEN ${keepsLease} THEN claim_expires_at
                                     ELSE now() + ${leaseFor} * interval '1 millisecond' END,
             progress = CASE WHEN ${isOwn} THEN progress END,
             progress_note = CASE WHEN ${isOwn} THEN progress_note END
       WHERE id = ${value('queueId')}
         AND orchestrator_id = ${value('orchestratorId')}
         AND available_at <= now()
         AND (claimed_at IS NULL OR ${isOwn})
   RETURNING ${claimColumns}`,
)

/**
 * Takes one piece of work if nobody has it. Of any number of callers at once exactly one gets it; the others
 * get null, as they do for work that is unknown, another orchestrator's, finished, or not yet due.
 *
 * The same claim again (same machine, same `claimToken`) gives the same answer without counting an attempt; if
 * its lease had lapsed, or the sweep had put the row back and nobody else took it, the claim runs again.
 */
export async function claim(db: Db, input: ClaimInput): Promise<Claim | null> {
  try {
    const [claimed] = await claimStatement(db, {
      orchestratorId: input.orchestratorId,
      queueId: input.queueId,
      machineId: input.machineId ?? null,
      claimToken: input.claimToken ?? null,
      previousToken: input.previousToken ?? null,
      leaseMs: input.leaseMs ?? null,
      defaultLeaseMs: input.defaultLeaseMs,
    })
    return claimed ?? null
  } catch (error) {
    // At REPEATABLE READ and above a rival's commit is a serialization failure: this caller has lost the race.
    if (isConflict(error)) return null
    throw error
  }
}
