import { type ContestantName, contestants } from './contestants/all'
import type { Contestant } from './contestants/contestant'

/** What the bench asks of this process: a method of {@link Contestant} and its arguments. */
export interface Question {
  id: number
  method: Exclude<keyof Contestant, 'close'>
  args: readonly unknown[]
}

export interface Reply {
  id: number
  result?: unknown
  error?: string
}

const [name, url = '', poolSize = '10'] = process.argv.slice(2)
const isContestant = (text: string | undefined): text is ContestantName => text !== undefined && text in contestants
if (!isContestant(name)) throw new Error(`There is no contestant ${name}.`)
const contestant: Contestant = contestants[name].make(url, Number(poolSize))

process.on('message', async ({ id, method, args }: Question) => {
  try {
    // @ts-expect-error the bench sends what the method takes
    const result: unknown = await contestant[method](...args)
    process.send?.({ id, result } satisfies Reply)
  } catch (error) {
    process.send?.({ id, error: String(error instanceof Error ? error.stack : error) } satisfies Reply)
  }
})
process.on('disconnect', () => process.exit(0))
