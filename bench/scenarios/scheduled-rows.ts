import { claimNext } from '@/lib/queue/claim-next'
import { olderPostgres } from '../older-postgres'
import { connect, quantileOf, timesOf } from '../own-database'
import { type BenchPostgres, startPostgres } from '../postgres'
import { atMost, type Scenario } from '../scenario'

const ROWS = 1_000_000
const CLAIMS = 20

/** How long claims take that find their work behind a million scheduled rows of better priority. */
async function claimTimes(postgres: BenchPostgres): Promise<number[]> {
  const connection = connect(await postgres.createDatabase('scheduled', 'dispatch'), 1)
  await postgres.sql(
    'scheduled',
    `INSERT INTO dispatch_queue (orchestrator_id, payload, priority, available_at)
     SELECT 'acme', '{}', CASE WHEN n > $1 THEN 0 ELSE -10 END, now() + CASE WHEN n > $1 THEN '0' ELSE '1 day'::interval END
       FROM generate_series(1, $1::integer + $2::integer) AS n`,
    [ROWS, CLAIMS + 1],
  )
  await postgres.sql('scheduled', 'VACUUM ANALYZE')
  const asked = { orchestratorId: 'acme', limit: 1, maxBytes: 1_000, defaultLeaseMs: 60_000 }
  try {
    const [, ...times] = await timesOf(CLAIMS + 1, () => claimNext(connection.db, asked))
    return times.map((ms) => Number(ms.toFixed(2)))
  } finally {
    await connection.close()
  }
}

export const scheduledRows: Scenario = {
  name: 'scheduled-rows',
  title: `a claim behind ${ROWS.toLocaleString('en')} scheduled rows of better priority`,
  unit: 'ms (median)',
  run: async (postgres) => {
    const newest = await claimTimes(postgres)
    const older = await startPostgres(await olderPostgres())
    const times = { 'Postgres 18': newest, 'Postgres 17': await claimTimes(older).finally(() => older.stop()) }
    const figures = Object.fromEntries(
      Object.entries(times).map(([name, all]) => [name, { median: quantileOf(all, 0.5), rounds: all }]),
    )
    return {
      figures,
      verdicts: Object.entries(figures).map(([name, { median }]) => atMost(`ms on ${name}`, median, 5)),
    }
  },
}
