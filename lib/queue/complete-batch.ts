import { type SQL, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'
import { logEndedAttempt } from '@/lib/queue/attempt-log'
import type { CompleteInput } from '@/lib/queue/complete'
import type { LostReason } from '@/lib/queue/errors'
import { explainLostClaims } from '@/lib/queue/explain-lost-claims'
import { insertIntoHistory } from '@/lib/queue/history'

export interface CompleteBatchInput {
  orchestratorId: string
  /** No queueId twice. */
  claims: readonly { queueId: number; claimToken: string; result?: unknown }[]
}

export type CompletedEntry =
  | { queueId: number; outcome: 'completed' }
  | { queueId: number; outcome: 'lost'; reason: LostReason }

const value = sql.placeholder

// Rows are locked in the order of their ids, so that overlapping batches wait for each other and never deadlock.
// The result comes out of jsonb by `->`, which keeps a JSON null; an absent one gives SQL NULL.
const completeMany = (name: string, lock: SQL) =>
  statement(
    name,
    { queueId: read.id, claimToken: read.text },
    sql`WITH asked AS MATERIALIZED (
        SELECT (item ->> 'queueId')::bigint AS id, (item ->> 'claimToken')::uuid AS token,
               item ->> 'orchestratorId' AS orchestrator, item -> 'result' AS result
          FROM jsonb_array_elements(${value('claims')}::jsonb) AS item
      ), held AS MATERIALIZED (
        SELECT queue.id FROM dispatch_queue AS queue JOIN asked USING (id)
         WHERE queue.orchestrator_id = asked.orchestrator AND queue.claim_token = asked.token
         ORDER BY queue.id FOR UPDATE OF queue ${lock}
      ), done AS (
        DELETE FROM dispatch_queue AS queue USING held, asked
         WHERE queue.id = held.id AND asked.id = held.id
           AND queue.orchestrator_id = asked.orchestrator AND queue.claim_token = asked.token
        RETURNING queue.*, asked.result
      )
      ${insertIntoHistory('done', {
        outcome: 'completed',
        attemptLog: logEndedAttempt('completed'),
        result: sql`result`,
      })}
      RETURNING id, claim_token`,
  )

const completeBatchStatement = completeMany('complete_batch', sql``)
const completeUnlockedStatement = completeMany('complete_unlocked', sql`SKIP LOCKED`)

/**
 * Finishes many claims in one statement and says of each, in the caller's order, whether it was completed or
 * lost. Every entry stands for itself: a lost one does not hold back the others. The same call again gives the same answer.
 */
export async function completeBatch(db: Db, input: CompleteBatchInput): Promise<CompletedEntry[]> {
  const { orchestratorId, claims } = input
  const rows = await completeBatchStatement(db, {
    claims: askedJson(claims.map((own) => ({ ...own, orchestratorId }))),
  })
  const done = new Set(rows.map((row) => row.queueId))

  const missing = claims.filter(({ queueId }) => !done.has(queueId))
  const lost = missing.length === 0 ? new Map() : await explainLostClaims(db, orchestratorId, missing)
  return claims.map(({ queueId }) => {
    const why = lost.get(queueId)
    if (done.has(queueId) || (why?.reason === 'completed' && why.isOwnFinish)) return { queueId, outcome: 'completed' }
    return { queueId, outcome: 'lost', reason: why?.reason ?? 'unknown' }
  })
}

/**
 * Finishes what can be finished at once of the claims of several callers, and says of each whether it was. The others, whose
 * row somebody has locked at this moment or whose claim is lost, are as they were: `complete` has their answer.
 */
export async function completeUnlocked(db: Db, claims: readonly CompleteInput[]): Promise<boolean[]> {
  const rows = await completeUnlockedStatement(db, { claims: askedJson(claims) })
  const done = new Set(rows.map(nameOf))
  return claims.map((claim) => done.has(nameOf(claim)))
}

/** Callers may hold whole claims, payload and all: no more than what the statement reads is sent. */
const askedJson = (claims: readonly CompleteInput[]) =>
  JSON.stringify(
    claims.map(({ orchestratorId, queueId, claimToken, result }) => ({ orchestratorId, queueId, claimToken, result })),
  )

const nameOf = ({ queueId, claimToken }: { queueId: number; claimToken: string }) =>
  `${queueId} ${claimToken.toLowerCase()}`
