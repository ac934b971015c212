import { LRUCache } from 'lru-cache'
import type { Db } from '@/lib/db/client'
import { claimNextByHint, claimSlotsByHint } from '@/lib/instance/claim-hint'
import { coalesce } from '@/lib/instance/coalesce'
import type { Claim } from '@/lib/queue/claim'
import type { ClaimNextInput } from '@/lib/queue/claim-next'
import { type CompleteInput, complete } from '@/lib/queue/complete'
import { completeUnlocked } from '@/lib/queue/complete-batch'

const MAX_ORCHESTRATORS = 1_000

type ClaimOneInput = Omit<ClaimNextInput, 'limit'>
/** `isShort`: there was work, and others of the same statement have it. */
interface ClaimOneAnswer {
  claim: Claim | undefined
  isShort: boolean
}

interface Shared {
  complete: (input: CompleteInput) => Promise<boolean>
  claimOne: LRUCache<string, (input: ClaimOneInput) => Promise<ClaimOneAnswer>>
}

const allShared = new WeakMap<Db, Shared>()

function sharedOf(db: Db): Shared {
  let shared = allShared.get(db)
  if (shared === undefined) {
    shared = {
      complete: coalesce((inputs) => completeTogether(db, inputs)),
      claimOne: new LRUCache({ max: MAX_ORCHESTRATORS }),
    }
    allShared.set(db, shared)
  }
  return shared
}

/** {@link complete}, in one statement with what else this instance is asked to complete at the same time. */
export async function completeShared(db: Db, input: CompleteInput): Promise<{ outcome: 'completed' }> {
  return (await sharedOf(db).complete(input)) ? { outcome: 'completed' } : complete(db, input)
}

/** {@link claimNextByHint}; single claims are made in one statement with those that this instance is asked for at the same time. */
export async function claimNextShared(db: Db, input: ClaimNextInput): Promise<Claim[]> {
  if (input.limit !== 1) return claimNextByHint(db, input)
  const { claimOne } = sharedOf(db)
  const claim = claimOne.get(input.orchestratorId) ?? coalesce((inputs) => claimTogether(db, inputs))
  claimOne.set(input.orchestratorId, claim)
  for (;;) {
    const answer = await claim(input)
    if (answer.claim !== undefined) return [answer.claim]
    // Each further try comes after a claim of somebody else's, so it ends.
    if (!answer.isShort) return []
  }
}

// Alone, a call has the statement for one, which is faster.

async function completeTogether(db: Db, inputs: readonly CompleteInput[]): Promise<boolean[]> {
  const [first] = inputs
  if (first === undefined || inputs.length > 1) return completeUnlocked(db, inputs)
  await complete(db, first)
  return [true]
}

async function claimTogether(db: Db, inputs: readonly ClaimOneInput[]): Promise<ClaimOneAnswer[]> {
  const [first] = inputs
  if (first === undefined) return []
  if (inputs.length === 1) {
    const [claim] = await claimNextByHint(db, { ...first, limit: 1 })
    return [{ claim, isShort: false }]
  }
  const { orchestratorId, maxBytes, defaultLeaseMs } = first
  const slots = inputs.map(({ machineId, leaseMs }) => ({ machineId, leaseMs }))
  const claims = await claimSlotsByHint(db, { orchestratorId, maxBytes, defaultLeaseMs, slots })
  const bySlot = new Map(claims.map(({ slot, ...claim }) => [slot, claim]))
  return inputs.map((_, slot) => {
    const claim = bySlot.get(slot)
    return { claim, isShort: claim === undefined && claims.length > 0 }
  })
}
