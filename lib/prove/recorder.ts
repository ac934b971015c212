import { DispatchError } from '@/lib/client/dispatch-error'
import type { ClaimedEvent, HistoryEvent, SettledEvent } from '@/lib/prove/history'

interface Claim {
  queueId: number
  claimToken: string
  attempts: number
  leaseMs: number
  /** ISO 8601. */
  claimExpiresAt: string
}

/** A claim in a machine's hands. */
export interface Held {
  queueId: number
  token: string
  /** What the server said, as milliseconds since 1970. */
  expiresAt: number
}

type Call = 'enqueue' | 'poll' | 'claim' | 'claim/next' | 'heartbeat' | 'completed' | 'failed' | 'released'

/** Writes down what each simulated machine saw, and how long each call took. */
export class Recorder {
  readonly history: HistoryEvent[] = []
  readonly latencies = new Map<Call, number[]>()
  /** The work of which some machine knows that it is completed. */
  readonly completed = new Set<number>()
  lostRaces = 0

  /** Runs a call and notes how long its answer took. */
  async timed<T>(call: Call, run: () => Promise<T>): Promise<T> {
    const sentAt = performance.now()
    const answer = await run()
    const times = this.latencies.get(call) ?? []
    this.latencies.set(call, times)
    times.push(performance.now() - sentAt)
    return answer
  }

  async enqueue<T extends { items: readonly { queueId: number; enqueued: boolean }[] }>(
    run: () => Promise<T>,
  ): Promise<T> {
    const sentAt = performance.now()
    const answer = await this.timed('enqueue', run)
    const seenAt = performance.now()
    for (const { queueId, enqueued } of answer.items) {
      this.history.push({ kind: 'enqueued', machine: 'producer', queueId, isNew: enqueued, sentAt, seenAt })
    }
    return answer
  }

  /** A claim by id, or one that takes the machine's own over; its token is made here, so that repetitions are one claim. */
  async claim(
    { machineId, queueId, previousToken }: { machineId: string; queueId: number; previousToken?: string },
    run: (token: string) => Promise<Claim | null>,
  ): Promise<Held | undefined> {
    const token = crypto.randomUUID()
    const sentAt = performance.now()
    const claim = await this.timed('claim', () => run(token))
    if (claim === null) {
      this.lostRaces += 1
      return undefined
    }
    this.#claimed(machineId, claim, sentAt, previousToken)
    return { queueId, token, expiresAt: Date.parse(claim.claimExpiresAt) }
  }

  async next(
    { machineId, limit, isAlone }: { machineId: string; limit: number; isAlone: boolean },
    run: () => Promise<readonly Claim[]>,
  ): Promise<Held[]> {
    const sentAt = performance.now()
    const claims = await this.timed('claim/next', run)
    const queueIds = claims.map(({ queueId }) => queueId)
    const seenAt = performance.now()
    this.history.push({ kind: 'next', machine: machineId, sentAt, seenAt, limit, isAlone, queueIds })
    for (const claim of claims) this.#claimed(machineId, claim, sentAt)
    return claims.map(({ queueId, claimToken, claimExpiresAt }) => ({
      queueId,
      token: claimToken,
      expiresAt: Date.parse(claimExpiresAt),
    }))
  }

  /** @returns whether the claim is still the machine's */
  async renewal(
    { machineId, queueId, token }: { machineId: string; queueId: number; token: string },
    run: () => Promise<{ leaseMs: number }>,
  ): Promise<boolean> {
    const sentAt = performance.now()
    try {
      const { leaseMs } = await this.timed('heartbeat', run)
      this.history.push({
        kind: 'renewed',
        machine: machineId,
        queueId,
        token,
        leaseMs,
        sentAt,
        seenAt: performance.now(),
      })
      return true
    } catch (error) {
      if (error instanceof DispatchError && error.code === 'claim-lost') return false
      throw error
    }
  }

  async settlement(
    kind: SettledEvent['kind'],
    { machineId, queueId, token }: { machineId: string; queueId: number; token: string },
    run: () => Promise<unknown>,
  ): Promise<void> {
    const sentAt = performance.now()
    const note = (isAccepted: boolean, reason?: string) => {
      // Refused, since an earlier call, whose answer was lost, was accepted: that is a completion, too.
      if ((kind === 'completed' && isAccepted) || reason === 'completed') this.completed.add(queueId)
      this.history.push({
        kind,
        machine: machineId,
        queueId,
        token,
        isAccepted,
        ...(reason !== undefined && { reason }),
        sentAt,
        seenAt: performance.now(),
      })
    }
    try {
      await this.timed(kind, run)
      note(true)
    } catch (error) {
      if (!(error instanceof DispatchError)) throw error
      // Whether the server took it is not known where no answer came; that it may have ended the claim is.
      note(false, error.code === 'claim-lost' ? error.reason : error.code)
      if (error.code !== 'claim-lost') throw error
    }
  }

  #claimed(machine: string, claim: Claim, sentAt: number, previousToken?: string): void {
    const { queueId, claimToken: token, attempts, leaseMs } = claim
    const event: ClaimedEvent = {
      kind: 'claimed',
      machine,
      queueId,
      token,
      attempts,
      leaseMs,
      sentAt,
      seenAt: performance.now(),
    }
    this.history.push(previousToken === undefined ? event : { ...event, previousToken })
  }
}
