import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Question, Reply } from './contestant-process'
import type { ContestantName } from './contestants/all'
import type { Drain, Load } from './contestants/contestant'
import { benchNode } from './node'

/** A contestant in a process of its own, all of them under the same Node. */
export class RunningContestant {
  readonly name: ContestantName
  readonly #child: ChildProcess
  readonly #open = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  #lastId = 0

  constructor(name: ContestantName, url: string, poolSize: number) {
    this.name = name
    this.#child = fork(`${import.meta.dirname}/contestant-process.ts`, [name, url, `${poolSize}`], {
      execPath: benchNode(),
      execArgv: ['--import', 'tsx'],
      cwd: `${import.meta.dirname}/..`,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#child.on('message', ({ id, result, error }: Reply) => {
      const waiting = this.#open.get(id)
      this.#open.delete(id)
      if (error === undefined) waiting?.resolve(result)
      else waiting?.reject(new Error(`${name}: ${error}`))
    })
    this.#child.on('exit', (code) => {
      for (const { reject } of this.#open.values()) reject(new Error(`${name} ended with exit code ${code}`))
    })
  }

  async setUp(): Promise<void> {
    await this.#ask({ method: 'setUp' })
  }

  async enqueue(count: number, batch: number): Promise<number> {
    const startedAt = performance.now()
    await this.#ask({ method: 'enqueue', count, batch })
    return (performance.now() - startedAt) / 1_000
  }

  async drain(drain: Drain): Promise<number> {
    return Number(await this.#ask({ method: 'drain', drain }))
  }

  async load(load: Load): Promise<number[]> {
    const finished = await this.#ask({ method: 'load', load })
    return Array.isArray(finished) ? finished.map(Number) : []
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }

  #ask(question: Question): Promise<unknown> {
    this.#lastId += 1
    const id = this.#lastId
    return new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject })
      this.#child.send({ id, question })
    })
  }
}
