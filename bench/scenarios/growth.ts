import { claimNext } from '@/lib/queue/claim-next'
import { poll } from '@/lib/queue/poll'
import { connect, quantileOf, timesOf } from '../own-database'
import type { BenchPostgres } from '../postgres'
import { addRound, atMost, figuresOf, type Scenario } from '../scenario'

const POLLS = 200
/** The smallest orchestrator has 100 rows, and has to have work to the end of six rounds. */
const CLAIMS = 15

/** How full the tables are. */
const sizes = {
  '1,000 rows': { rows: 1_000, orchestrators: 1, history: 0 },
  '1,000,000 rows': { rows: 1_000_000, orchestrators: 1, history: 0 },
  '1,000,000 rows of 10,000 orchestrators': { rows: 1_000_000, orchestrators: 10_000, history: 0 },
  '1,000 rows beside 5,000,000 in history': { rows: 1_000, orchestrators: 1, history: 5_000_000 },
}

async function fill(postgres: BenchPostgres, database: string, size: (typeof sizes)[keyof typeof sizes]) {
  await postgres.sql(
    database,
    `INSERT INTO dispatch_queue (orchestrator_id, payload)
     SELECT 'acme' || n % $2::integer, '{"issue": "ENG-142"}' FROM generate_series(1, $1::integer) AS n`,
    [size.rows, size.orchestrators],
  )
  await postgres.sql(
    database,
    `INSERT INTO dispatch_history (id, orchestrator_id, payload, attempts, outcome)
     SELECT 1000000000 + n, 'acme0', '{"issue": "ENG-142"}', 1, 'completed' FROM generate_series(1, $1::integer) AS n`,
    [size.history],
  )
  await postgres.sql(database, 'VACUUM ANALYZE')
}

export const growth: Scenario = {
  name: 'growth',
  title: 'one claim, or one poll, as the tables grow',
  unit: 'ms (median)',
  run: async (postgres, rounds) => {
    const measured = new Map<string, number[]>()
    const open = []
    for (const [n, [name, size]] of Object.entries(sizes).entries()) {
      const url = await postgres.createDatabase(`size_${n}`, 'dispatch')
      await fill(postgres, `size_${n}`, size)
      open.push({ name, connection: connect(url, 1) })
    }
    const input = { orchestratorId: 'acme0', machineId: 'laptop', maxBytes: 3_000_000 }
    const note = (name: string, times: number[]) => {
      addRound(measured, name, quantileOf(times, 0.5))
    }
    // The first round warms up.
    for (let round = 0; round <= rounds; round += 1) {
      for (const { name, connection } of open) {
        const polls = await timesOf(POLLS, () => poll(connection.db, { ...input, machineId: 'desktop', limit: 20 }))
        const claims = await timesOf(CLAIMS, () =>
          claimNext(connection.db, { ...input, limit: 1, defaultLeaseMs: 1_800_000 }),
        )
        if (round === 0) continue
        note(`claim, ${name}`, claims)
        note(`poll, ${name}`, polls)
      }
    }
    await Promise.all(open.map(({ connection }) => connection.close()))
    const figures = figuresOf(measured)
    const [smallest = '', ...others] = Object.keys(sizes)
    const verdicts = others.flatMap((name) =>
      ['claim', 'poll'].map((call) =>
        atMost(
          `× the ${call} with ${smallest}: ${name}`,
          (figures[`${call}, ${name}`]?.median ?? Number.NaN) / (figures[`${call}, ${smallest}`]?.median ?? 1),
          1.2,
        ),
      ),
    )
    return { figures, verdicts }
  },
}
