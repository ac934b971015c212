import { type ContestantName, contestants } from './contestants/all'
import type { Contestant, Drain, Load } from './contestants/contestant'

/** What the bench asks of this process: a method of {@link Contestant}. */
export type Question =
  | { method: 'setUp' }
  | { method: 'enqueue'; count: number; batch: number }
  | { method: 'drain'; drain: Drain }
  | { method: 'load'; load: Load }

export interface Reply {
  id: number
  result?: unknown
  error?: string
}

const [name, url = '', poolSize = '10'] = process.argv.slice(2)
const isContestant = (text: string | undefined): text is ContestantName => text !== undefined && text in contestants
if (!isContestant(name)) throw new Error(`There is no contestant ${name}.`)
const contestant: Contestant = contestants[name].make(url, Number(poolSize))

function answer(question: Question): Promise<unknown> {
  switch (question.method) {
    case 'setUp':
      return contestant.setUp()
    case 'enqueue':
      return contestant.enqueue(question.count, question.batch)
    case 'drain':
      return contestant.drain(question.drain)
    case 'load':
      return contestant.load(question.load)
    default:
      return question satisfies never
  }
}

process.on('message', async ({ id, question }: { id: number; question: Question }) => {
  try {
    process.send?.({ id, result: await answer(question) } satisfies Reply)
  } catch (error) {
    process.send?.({ id, error: String(error instanceof Error ? error.stack : error) } satisfies Reply)
  }
})
process.on('disconnect', () => process.exit(0))
