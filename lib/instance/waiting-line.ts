export interface Seat {
  orchestratorId: string
  machineId?: string | undefined
  /** The wait ends when the machine turns out to hold claims. */
  isForHeld: boolean
}

export interface WaitEnd {
  /** The time is up, the caller is gone, or there is no waiting now: not a reason to look for work. */
  isOver: boolean
  /** Known: the machine holds no claim. */
  holdsNothing: boolean
}

interface Waiter extends Seat {
  /** undefined: nobody has asked yet. */
  holdsClaims: boolean | undefined
  end(isOver: boolean): void
}

/** Who waits, in the order of their coming, by orchestrator. It asks nobody and knows no database. */
export class WaitingLine {
  readonly #waiters = new Map<string, Set<Waiter>>()
  /** Those of whose machines it is not known whether they hold claims; kept, so that a tick need not walk over a whole fleet. */
  readonly #unknown = new Set<Waiter>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Resolves when woken, when the time is up, when the caller is gone, or when everybody is dismissed. */
  join(seat: Seat, waitMs: number, signal: AbortSignal): Promise<WaitEnd> {
    return new Promise((resolve) => {
      const waiter: Waiter = {
        ...seat,
        // Without a name there is nothing to be held.
        holdsClaims: seat.machineId === undefined ? false : undefined,
        end: (isOver) => {
          if (!this.#remove(waiter)) return
          clearTimeout(timer)
          signal.removeEventListener('abort', leave)
          resolve({ isOver, holdsNothing: waiter.holdsClaims === false })
        },
      }
      const leave = () => waiter.end(true)
      const timer = setTimeout(leave, waitMs)
      signal.addEventListener('abort', leave, { once: true })
      this.#add(waiter)
    })
  }

  /** Wakes up to `rows` of an orchestrator's waiters. @returns how many */
  wake(orchestratorId: string, rows: number): number {
    const woken = [...(this.#waiters.get(orchestratorId) ?? [])].slice(0, Math.max(0, rows))
    for (const waiter of woken) waiter.end(false)
    return woken.length
  }

  /** Ends every wait. */
  dismiss(): void {
    for (const waiters of [...this.#waiters.values()]) for (const waiter of [...waiters]) waiter.end(true)
  }

  orchestrators(): { orchestratorId: string; waiters: number }[] {
    return [...this.#waiters].map(([orchestratorId, { size }]) => ({ orchestratorId, waiters: size }))
  }

  /** The machines of which nobody has asked yet whether they hold claims. */
  unknownMachines(): { orchestratorId: string; machineId: string }[] {
    return [...this.#unknown].flatMap(({ orchestratorId, machineId }) =>
      machineId === undefined ? [] : [{ orchestratorId, machineId }],
    )
  }

  /** Takes in which of the machines asked about hold claims, and ends the waits of those that want to know. */
  learn(asked: readonly Machine[], holding: readonly Machine[]): void {
    const isAsked = new Set(asked.map(nameOf))
    const isHolding = new Set(holding.map(nameOf))
    for (const waiter of [...this.#unknown]) {
      const name = nameOf(waiter)
      if (!isAsked.has(name)) continue
      this.#unknown.delete(waiter)
      waiter.holdsClaims = isHolding.has(name)
      if (waiter.holdsClaims && waiter.isForHeld) waiter.end(false)
    }
  }

  #add(waiter: Waiter): void {
    const waiters = this.#waiters.get(waiter.orchestratorId) ?? new Set()
    this.#waiters.set(waiter.orchestratorId, waiters.add(waiter))
    if (waiter.holdsClaims === undefined) this.#unknown.add(waiter)
    this.#size += 1
  }

  #remove(waiter: Waiter): boolean {
    const waiters = this.#waiters.get(waiter.orchestratorId)
    if (!waiters?.delete(waiter)) return false
    this.#unknown.delete(waiter)
    if (waiters.size === 0) this.#waiters.delete(waiter.orchestratorId)
    this.#size -= 1
    return true
  }
}

interface Machine {
  orchestratorId: string
  machineId?: string | undefined
}

const nameOf = ({ orchestratorId, machineId }: Machine) => JSON.stringify([orchestratorId, machineId])
