import type { Config } from '@/lib/config'
import type { Db } from '@/lib/db/client'
import { log, loggableError } from '@/lib/instance/log'
import { maybeWriteMachines } from '@/lib/instance/machine-notes'
import { maybeSweepStale } from '@/lib/instance/maybe-sweep-stale'
import { untilStopped } from '@/lib/instance/stop-signal'
import { type Seat, type WaitEnd, WaitingLine } from '@/lib/instance/waiting-line'
import { askForWaiters } from '@/lib/queue/ask-for-waiters'

const TICK_MS = 1_000
/** What the last tick saw counts for a little longer than until the next one. */
const KNOWN_FOR_MS = 1_500

type Settings = Pick<Config, 'maxWaiters' | 'sweepIntervalMs'>

/**
 * The callers of this instance that wait for work. They hold no database connection: once a second one statement asks for
 * all of them together. It is only an optimisation: whoever is woken looks for itself, and may find that it was for nothing.
 */
export class WaitingRoom {
  readonly #db: Db
  readonly #settings: Settings
  readonly #line = new WaitingLine()
  /** Offered to waiters since the last tick, by orchestrator: rows that are about to be claimed. */
  #offered = new Map<string, number>()
  #seenEmpty = new Set<string>()
  #seenAt = Number.NEGATIVE_INFINITY
  #ticking: NodeJS.Timeout | undefined
  #isClosed = false
  #hasFailed = false

  constructor(db: Db, settings: Settings) {
    this.#db = db
    this.#settings = settings
    untilStopped(() => this.#close())
  }

  /** How many wait. */
  get size(): number {
    return this.#line.size
  }

  /** Whether no more may wait. */
  get isFull(): boolean {
    return this.#line.size >= this.#settings.maxWaiters
  }

  /** Whether the last tick, a moment ago, saw nothing to claim for an orchestrator and nothing came in here since. */
  isKnownEmpty(orchestratorId: string): boolean {
    return this.#seenEmpty.has(orchestratorId) && performance.now() - this.#seenAt < KNOWN_FOR_MS
  }

  /** Waits until there may be work, at most `waitMs`; at once when the room is full or closed. */
  async wait(seat: Seat, waitMs: number, signal: AbortSignal): Promise<WaitEnd> {
    if (this.isFull || this.#isClosed || signal.aborted) return { isOver: true, holdsNothing: false }
    const waiting = this.#line.join(seat, waitMs, signal)
    this.#ticking ??= setTimeout(() => this.#tick(), TICK_MS)
    return waiting
  }

  /** Wakes as many waiters as there are new rows, longest waiting first. */
  offer(orchestratorId: string, rows: number): void {
    if (rows <= 0) return
    this.#seenEmpty.delete(orchestratorId)
    const woken = this.#line.wake(orchestratorId, rows)
    if (woken > 0) this.#offered.set(orchestratorId, (this.#offered.get(orchestratorId) ?? 0) + woken)
  }

  async #tick(): Promise<void> {
    const startedAt = performance.now()
    void maybeSweepStale(this.#db, this.#settings)
    void maybeWriteMachines(this.#db)
    try {
      await this.#ask(startedAt)
      this.#hasFailed = false
    } catch (error) {
      if (!this.#hasFailed) log().error(loggableError(error), 'waiting machines cannot be served; it is tried again')
      this.#hasFailed = true
    }
    const pauseMs = Math.max(0, TICK_MS - (performance.now() - startedAt))
    this.#ticking = this.#line.size === 0 ? undefined : setTimeout(() => this.#tick(), pauseMs)
  }

  async #ask(startedAt: number): Promise<void> {
    const orchestrators = this.#line.orchestrators()
    const unknown = this.#line.unknownMachines()
    const alreadyOffered = this.#offered
    this.#offered = new Map()
    const { claimable, holding } = await askForWaiters(this.#db, { orchestrators, machines: unknown })
    const offered = (orchestratorId: string) =>
      (alreadyOffered.get(orchestratorId) ?? 0) + (this.#offered.get(orchestratorId) ?? 0)
    this.#seenAt = startedAt
    this.#seenEmpty = new Set(
      orchestrators.map((asked) => asked.orchestratorId).filter((id) => !claimable.has(id) && offered(id) === 0),
    )
    this.#line.learn(unknown, holding)
    for (const [orchestratorId, rows] of claimable) {
      this.#line.wake(orchestratorId, rows - offered(orchestratorId))
    }
  }

  #close(): void {
    this.#isClosed = true
    clearTimeout(this.#ticking)
    this.#line.dismiss()
  }
}

const rooms = new WeakMap<Db, WaitingRoom>()

/** This instance's waiting room. */
export function waitingRoom(db: Db, settings: Settings): WaitingRoom {
  let room = rooms.get(db)
  if (room === undefined) {
    room = new WaitingRoom(db, settings)
    rooms.set(db, room)
  }
  return room
}
