import type { Db } from '@/lib/db/client'
import { type Claim, type ClaimInput, claim } from '@/lib/queue/claim'
import { complete } from '@/lib/queue/complete'
import { completeBatch } from '@/lib/queue/complete-batch'
import { type LostReason, QueueError, type Refusal } from '@/lib/queue/errors'
import { fail } from '@/lib/queue/fail'
import { heartbeat } from '@/lib/queue/heartbeat'
import { release } from '@/lib/queue/release'
import type { Inserted } from '../support/factories'

export const DEFAULT_LEASE_MS = 60_000

/** What a holder shows with each of its calls. */
export interface Own extends Inserted {
  claimToken: string
}

/** Claims a row, as a machine without a name unless told. */
export const claimRow = (db: Db, { orchestratorId, queueId }: Inserted, more: Partial<ClaimInput> = {}) =>
  claim(db, { orchestratorId, queueId, defaultLeaseMs: DEFAULT_LEASE_MS, ...more })

/** Claims a row that is free. */
export async function mustClaim(db: Db, row: Inserted, more: Partial<ClaimInput> = {}): Promise<Own & Claim> {
  const claimed = await claimRow(db, row, more)
  if (claimed === null) throw new Error(`work ${row.queueId} is not free`)
  return { ...row, ...claimed }
}

const bare = ({ orchestratorId, queueId, claimToken }: Own): Own => ({ orchestratorId, queueId, claimToken })

/** Each call that only the holder of a claim may make. */
export const holderCalls: Record<
  'heartbeat' | 'complete' | 'fail' | 'release',
  (db: Db, own: Own) => Promise<unknown>
> = {
  heartbeat: (db, own) => heartbeat(db, bare(own)),
  complete: (db, own) => complete(db, { ...bare(own), result: { late: true } }),
  fail: (db, own) => fail(db, { ...bare(own), error: 'late' }),
  release: (db, own) => release(db, bare(own)),
}

/** How the queue refused a call; undefined when it did not. Any other error is thrown on. */
export async function refusalOf(call: Promise<unknown>): Promise<Refusal | undefined> {
  try {
    await call
    return undefined
  } catch (error) {
    if (error instanceof QueueError) return error.refusal
    throw error
  }
}

/** The reason that a holder is given for a lost claim, or 'accepted'. */
export async function reasonOf(call: Promise<unknown>): Promise<LostReason | 'accepted'> {
  const refusal = await refusalOf(call)
  if (refusal === undefined) return 'accepted'
  if (refusal.code !== 'claim-lost') throw new Error(`refused as ${refusal.code}`)
  return refusal.reason
}

/** {@link completeBatch} of one orchestrator's claims. */
export const completeAll = (db: Db, claims: readonly Own[]) =>
  completeBatch(db, {
    orchestratorId: claims[0]?.orchestratorId ?? '',
    claims: claims.map(({ queueId, claimToken }) => ({ queueId, claimToken })),
  })
