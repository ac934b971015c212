import { createLogUpdate } from 'log-update'
import pc from 'picocolors'
import type { MachineEvent } from '@/lib/demo/machine'

interface Holding {
  machine: string
  progress: number
  note: string
}

/** What has been seen of the machines so far, and how it is shown: redrawn in place on a terminal, else a line for each event. */
export class Board {
  readonly #names: ReadonlyMap<number, string>
  readonly #holding = new Map<number, Holding>()
  readonly #live = createLogUpdate(process.stdout)
  readonly #isTTY = process.stdout.isTTY
  readonly #startedAt = performance.now()
  #done = 0

  constructor(names: ReadonlyMap<number, string>) {
    this.#names = names
  }

  get done(): number {
    return this.#done
  }

  heldBy(machine: string): number[] {
    return [...this.#holding].filter(([, held]) => held.machine === machine).map(([queueId]) => queueId)
  }

  /** Takes in an event, and tells it. */
  see({ event, machineId, queueId, attempts = 1, progress = 0, note = '', how = '' }: MachineEvent): void {
    if (queueId === undefined) return
    const name = this.#names.get(queueId) ?? `#${queueId}`
    if (event === 'claimed') {
      this.#holding.set(queueId, { machine: machineId, progress: 0, note: 'starts' })
      this.say(`${this.#machine(machineId)} claims ${name}${attempts > 1 ? pc.yellow(` (attempt ${attempts})`) : ''}`)
    }
    if (event === 'progress') this.#holding.set(queueId, { machine: machineId, progress, note })
    if (event === 'ended') {
      this.#holding.delete(queueId)
      if (how === 'completed') this.#done += 1
      this.say(`${this.#machine(machineId)} ${how} ${name}`)
    }
    this.#draw()
  }

  /** Writes a line above what is redrawn. */
  say(text: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(1).padStart(5)
    if (this.#isTTY) this.#live.clear()
    process.stdout.write(`${pc.dim(`${seconds} s`)}  ${text}\n`)
    this.#draw()
  }

  close(): void {
    if (this.#isTTY) this.#live.clear()
  }

  #machine(name: string): string {
    return (name === 'laptop' ? pc.cyan : pc.magenta)(name.padEnd(7))
  }

  #draw(): void {
    if (!this.#isTTY) return
    const lines = [...this.#holding].map(
      ([queueId, { machine, progress, note }]) =>
        `${this.#machine(machine)} ${(this.#names.get(queueId) ?? '').padEnd(40)} ${`${progress} %`.padStart(5)} ${pc.dim(note)}`,
    )
    this.#live([...lines, pc.dim(`${this.#done} of ${this.#names.size} completed`)].join('\n'))
  }
}
