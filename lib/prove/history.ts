/**
 * What simulated machines saw of a server: one entry for each answer. Instants are milliseconds on one monotonic clock, that of
 * the process which simulates all machines: `sentAt` before the request left, `seenAt` after its answer came.
 */
interface Seen {
  machine: string
  sentAt: number
  seenAt: number
}

interface EnqueuedEvent extends Seen {
  kind: 'enqueued'
  queueId: number
  isNew: boolean
}

/** A claim that was given out, or one that its own machine took over or repeated: then the token is not new to the history. */
export interface ClaimedEvent extends Seen {
  kind: 'claimed'
  queueId: number
  token: string
  attempts: number
  leaseMs: number
  /** The token of the machine's own claim that this one took over. */
  previousToken?: string
}

export interface RenewedEvent extends Seen {
  kind: 'renewed'
  queueId: number
  token: string
  leaseMs: number
}

/** A call that ends a claim, and whether the server took it; `reason` is why not. An answer that was lost leaves no entry. */
export interface SettledEvent extends Seen {
  kind: 'completed' | 'failed' | 'released'
  queueId: number
  token: string
  isAccepted: boolean
  reason?: string
}

/** A claim/next: how many it asked for, and what it got, in the answer's order. */
export interface NextEvent extends Seen {
  kind: 'next'
  /** Nobody else asked in this orchestrator, and nothing was put back into it. */
  isAlone: boolean
  limit: number
  queueIds: number[]
}

/** Somebody took a claim away or cancelled the work. */
interface ActedEvent extends Seen {
  kind: 'acted'
  queueId: number
}

export type HistoryEvent = EnqueuedEvent | ClaimedEvent | RenewedEvent | SettledEvent | NextEvent | ActedEvent

/** A piece of work as the server tells of it when all is over. */
export interface FinalWork {
  queueId: number
  state: 'queued' | 'scheduled' | 'claimed' | 'stale' | 'completed' | 'failed' | 'cancelled'
  attempts: number
  maxAttempts: number
  priority: number
  attemptLog: readonly { attempt: number; how: string }[]
}

/** Something that must never happen, and the row's whole story. */
export interface Violation {
  rule: string
  queueId: number | undefined
  detail: string
  story: readonly HistoryEvent[]
}
