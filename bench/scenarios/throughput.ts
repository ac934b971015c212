import type { ContestantName } from '../contestants/all'
import { inRounds, type Rates } from '../rounds'
import { atLeast, type Outcome, type Scenario } from '../scenario'

/** At least so many times as fast as another contestant. */
interface Target {
  than: ContestantName
  ratio: number
}

function outcomeOf(rates: Rates, targets: readonly Target[]): Outcome {
  const own = rates['dispatch-queue']?.median ?? Number.NaN
  return {
    figures: rates,
    verdicts: targets.map(({ than, ratio }) => atLeast(`× ${than}`, own / (rates[than]?.median ?? Number.NaN), ratio)),
  }
}

const FILL_BATCH = 1_000
const singly: readonly ContestantName[] = [
  'dispatch-queue',
  'the same by hand',
  'pg-boss',
  'graphile-worker',
  'pgmq (its statements)',
  'SELECT … FOR UPDATE',
]
const inBatches: readonly ContestantName[] = [
  'dispatch-queue',
  'pg-boss',
  'graphile-worker, batching',
  'pgmq (its statements)',
]
const producing: readonly ContestantName[] = ['dispatch-queue', 'pg-boss', 'graphile-worker', 'pgmq (its statements)']

function claimScenario(workers: number, batch: number, count: number): Scenario {
  const isSingle = batch === 1
  const targets: Target[] = isSingle
    ? [
        { than: 'pg-boss', ratio: 2.5 },
        { than: 'graphile-worker', ratio: 1.3 },
        { than: 'the same by hand', ratio: 0.8 },
      ]
    : [
        { than: 'pg-boss', ratio: 3 },
        { than: 'graphile-worker, batching', ratio: 1.2 },
      ]
  return {
    name: `claim-${batch}-by-${workers}`,
    title: `claim + complete, ${isSingle ? 'one at a time' : `${batch} at a time`}, ${workers} ${workers === 1 ? 'worker' : 'workers'}`,
    unit: 'items/s',
    run: async (postgres, rounds) => {
      const rates = await inRounds(postgres, isSingle ? singly : inBatches, rounds, async (contestant) => {
        await contestant.enqueue(count, FILL_BATCH)
        return count / (await contestant.drain({ workers, batch, count }))
      })
      return outcomeOf(rates, targets)
    },
  }
}

function enqueueScenario(batch: number, count: number): Scenario {
  return {
    name: `enqueue-${batch}`,
    title: `enqueue, ${batch === 1 ? 'one by one' : `${batch} in a call`}, one producer`,
    unit: 'items/s',
    run: async (postgres, rounds) => {
      const rates = await inRounds(
        postgres,
        producing,
        rounds,
        async (contestant) => count / (await contestant.enqueue(count, batch)),
      )
      return outcomeOf(rates, [{ than: 'pg-boss', ratio: 2 }])
    },
  }
}

export const throughput: readonly Scenario[] = [
  claimScenario(1, 1, 1_500),
  claimScenario(8, 1, 4_000),
  claimScenario(32, 1, 4_000),
  claimScenario(8, 50, 20_000),
  claimScenario(8, 500, 40_000),
  enqueueScenario(1, 1_000),
  enqueueScenario(1_000, 20_000),
]
