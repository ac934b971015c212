import { Client } from 'pg'
import { mean } from 'simple-statistics'
import { type ContestantName, contestants } from '../contestants/all'
import type { BenchPostgres } from '../postgres'
import { RunningContestant } from '../running-contestant'
import { atLeast, type Figure, type Scenario } from '../scenario'

const SECONDS = 120
const SPAN = 10
const WORKERS = 8
/** More than anybody gets done in the time. */
const BACKLOG = 1_000_000
const names: readonly ContestantName[] = ['dispatch-queue', 'pg-boss', 'graphile-worker']

/** Throughput in each ten seconds of full load while a transaction elsewhere keeps vacuum from removing any dead row. */
async function underPinnedHorizon(postgres: BenchPostgres, name: ContestantName): Promise<number[]> {
  const url = await postgres.createDatabase('pinned', contestants[name].schema)
  const contestant = new RunningContestant(name, url, WORKERS + 2)
  const holder = new Client({ connectionString: url })
  try {
    await contestant.setUp()
    await contestant.enqueue(BACKLOG, 1_000)
    await postgres.sql('pinned', 'VACUUM ANALYZE')
    await holder.connect()
    await holder.query('START TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    await holder.query('SELECT count(*) FROM pg_class')
    const finished = await contestant.load({ workers: WORKERS, seconds: SECONDS })
    return Array.from({ length: SECONDS / SPAN }, (_, n) => Math.round(mean(finished.slice(n * SPAN, (n + 1) * SPAN))))
  } finally {
    await holder.end()
    await contestant.stop()
  }
}

export const pinnedHorizon: Scenario = {
  name: 'pinned-horizon',
  title: `claim + complete while a transaction is open for ${SECONDS} s, ${WORKERS} workers`,
  unit: 'items/s in the last 10 s',
  run: async (postgres) => {
    const figures: Record<string, Figure> = {}
    for (const name of names) {
      const spans = await underPinnedHorizon(postgres, name)
      figures[name] = { median: spans.at(-1) ?? 0, rounds: spans }
    }
    const own = figures['dispatch-queue']?.rounds ?? []
    return { figures, verdicts: [atLeast('of the first 10 s in the last', (own.at(-1) ?? 0) / (own[0] ?? 1), 0.9)] }
  },
}
