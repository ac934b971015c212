import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { nullable, read, statement } from '@/lib/db/statement'
import { type LostReason, lostReasons } from '@/lib/queue/errors'

export interface LostClaim {
  queueId: number
  reason: LostReason
  /** The work was finished under the very token that is asked about: the call is a repetition of the one that finished it. */
  isOwnFinish: boolean
}

const value = sql.placeholder

const explainStatement = statement(
  'explain_lost_claims',
  { queueId: read.id, reason: nullable(read.text), isOwnFinish: read.boolean },
  sql`SELECT asked."queueId",
             CASE WHEN live.id IS NULL THEN finished.outcome
                  WHEN live.claim_token IS NULL THEN 'released'
                  ELSE 'reclaimed' END,
             (finished.claim_token = asked."claimToken" AND finished.attempt_log -> -1 ->> 'how' = finished.outcome) IS TRUE
        FROM jsonb_to_recordset(${value('claims')}::jsonb) AS asked("queueId" bigint, "claimToken" uuid)
        LEFT JOIN dispatch_queue AS live
               ON live.id = asked."queueId" AND live.orchestrator_id = ${value('orchestratorId')}
        LEFT JOIN dispatch_history AS finished
               ON finished.id = asked."queueId" AND finished.orchestrator_id = ${value('orchestratorId')}`,
)

/**
 * Says what became of claims whose token no longer matches. It only reads, and runs after the write that matched
 * nothing: of two identical calls at once the second cannot see, in its own snapshot, what the first one did.
 */
export async function explainLostClaims(
  db: Db,
  orchestratorId: string,
  claims: readonly { queueId: number; claimToken: string }[],
): Promise<Map<number, LostClaim>> {
  const asked = claims.map(({ queueId, claimToken }) => ({ queueId, claimToken }))
  const rows = await explainStatement(db, { orchestratorId, claims: JSON.stringify(asked) })
  return new Map(
    rows.map((row) => {
      const reason = lostReasons.find((known) => known === row.reason) ?? 'unknown'
      return [row.queueId, { queueId: row.queueId, reason, isOwnFinish: row.isOwnFinish }]
    }),
  )
}

/** {@link explainLostClaims} for one claim. */
export async function explainLostClaim(
  db: Db,
  claim: { orchestratorId: string; queueId: number; claimToken: string },
): Promise<LostClaim> {
  const lost = await explainLostClaims(db, claim.orchestratorId, [claim])
  return lost.get(claim.queueId) ?? { queueId: claim.queueId, reason: 'unknown', isOwnFinish: false }
}
