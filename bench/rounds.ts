import { type ContestantName, contestants } from './contestants/all'
import type { BenchPostgres } from './postgres'
import { RunningContestant } from './running-contestant'
import { type Figure, figuresOf } from './scenario'

const POOL_SIZE = 40

export type Rates = Partial<Record<ContestantName, Figure>>

/**
 * Lets contestants run one after the other, round by round, so that what happens to the machine meanwhile happens to all of
 * them. The first round warms up and does not count. Each contestant has an empty database of its own.
 *
 * @param round what is measured: it gives a rate per second
 * @returns how often in a second, by contestant
 */
export async function inRounds(
  postgres: BenchPostgres,
  names: readonly ContestantName[],
  rounds: number,
  round: (contestant: RunningContestant) => Promise<number>,
): Promise<Rates> {
  const running: RunningContestant[] = []
  try {
    for (const [index, name] of names.entries()) {
      const url = await postgres.createDatabase(`contestant_${index}`, contestants[name].schema)
      const contestant = new RunningContestant(name, url, POOL_SIZE)
      running.push(contestant)
      await contestant.setUp()
    }
    const measured = new Map<ContestantName, number[]>(names.map((name) => [name, []]))
    for (let n = 0; n <= rounds; n += 1) {
      for (const contestant of running) {
        const rate = await round(contestant)
        if (n > 0) measured.get(contestant.name)?.push(Math.round(rate))
      }
    }
    return figuresOf(measured)
  } finally {
    await Promise.all(running.map((contestant) => contestant.stop()))
  }
}
