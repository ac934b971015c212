import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'
import { claimLost } from '@/lib/queue/errors'
import { explainLostClaim } from '@/lib/queue/explain-lost-claims'
import { toStorableText } from '@/lib/queue/storable-text'

export const NOTE_MAX_LENGTH = 1_000

export interface HeartbeatInput {
  orchestratorId: string
  queueId: number
  claimToken: string
  /** Percent, 0 to 100. */
  progress?: number | undefined
  note?: string | undefined
  /** A new lease from now on; without it the claim's own lease runs anew. */
  leaseMs?: number | undefined
}

const value = sql.placeholder

// A swept claim has no claimed_at; its holder takes it up again, which is no new attempt.
const heartbeatStatement = statement(
  'heartbeat',
  { claimExpiresAt: read.instant, leaseMs: read.number },
  sql`UPDATE dispatch_queue
         SET claimed_at = coalesce(claimed_at, now()),
             lease_ms = coalesce(${value('leaseMs')}::integer, lease_ms),
             claim_expires_at = now() + coalesce(${value('leaseMs')}::integer, lease_ms) * interval '1 millisecond',
             progress = coalesce(${value('progress')}::smallint, progress),
             progress_note = coalesce(${value('note')}::text, progress_note)
       WHERE id = ${value('queueId')}
         AND orchestrator_id = ${value('orchestratorId')}
         AND claim_token = ${value('claimToken')}::uuid
   RETURNING claim_expires_at, lease_ms`,
)

/**
 * Renews a claim's lease from now and notes its progress. It also revives a claim whose lease lapsed, swept or
 * not, as long as nobody else has claimed the work since.
 *
 * @throws {QueueError} claim-lost, with the reason; the row is then as it was
 */
export async function heartbeat(db: Db, input: HeartbeatInput): Promise<{ claimExpiresAt: string; leaseMs: number }> {
  const [renewed] = await heartbeatStatement(db, {
    ...input,
    progress: input.progress ?? null,
    note: input.note === undefined ? null : toStorableText(input.note, NOTE_MAX_LENGTH),
    leaseMs: input.leaseMs ?? null,
  })
  if (renewed !== undefined) return renewed
  throw claimLost((await explainLostClaim(db, input)).reason)
}
