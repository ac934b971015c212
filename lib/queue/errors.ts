/** Why a claim token no longer counts: what became of the row since it was given out. */
export const lostReasons = ['completed', 'failed', 'cancelled', 'reclaimed', 'released', 'unknown'] as const
export type LostReason = (typeof lostReasons)[number]

/** What the queue refuses, apart from HTTP. A lost race is no refusal: it is an answer. */
export type Refusal =
  | { code: 'claim-lost'; reason: LostReason }
  | { code: 'wrong-state'; state: string }
  | { code: 'not-found' }
  | { code: 'busy' }

/** A request that the queue refused; the row is as it was before. */
export class QueueError extends Error {
  override name = 'QueueError'
  readonly refusal: Refusal

  constructor(refusal: Refusal, message: string) {
    super(message)
    this.refusal = refusal
  }
}

const lostMessages: Record<LostReason, string> = {
  completed: 'This work was completed already. Stop working on it.',
  failed: 'This work has failed for good. Stop working on it.',
  cancelled: 'This work was cancelled. Stop working on it.',
  reclaimed: 'Another claim has taken this work over. Stop working on it.',
  released: 'This claim was given up: the work is back in the queue. Stop working on it, or claim it again.',
  unknown: 'There is no such work for this orchestrator; it may have been pruned. Stop working on it.',
}

/** The refusal that answers a call whose claim token was overtaken. */
export function claimLost(reason: LostReason): QueueError {
  return new QueueError({ code: 'claim-lost', reason }, lostMessages[reason])
}
