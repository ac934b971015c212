import autocannon from 'autocannon'
import { z } from 'zod'
import { type BenchApp, startApps } from '../app'
import type { BenchPostgres } from '../postgres'
import { addRound, atLeast, figuresOf, type Scenario } from '../scenario'

const CONNECTIONS = 16
const SECONDS = 5
const POLLED = 20
const BATCH = 100

const claims = z.object({ claims: z.array(z.object({ queueId: z.number(), claimToken: z.string() })) })
const claimsIn = (body: string) => claims.parse(JSON.parse(body)).claims
const own = { orchestratorId: 'acme', machineId: 'laptop' }

/** One kind of load: its requests, what one round of them counts for, and how many rows it may use up. */
interface Load {
  requests: autocannon.Request[]
  /** Items per request. */
  itemsPerRequest: number
  rows: number
}

const post = (path: string, rest: Partial<autocannon.Request>): autocannon.Request => ({
  method: 'POST',
  path,
  ...rest,
})

function loads(firstId: number): Record<string, Load> {
  let nextId = firstId
  const takeAndFinish = (
    limit: number,
    finish: string,
    bodyOf: (taken: z.infer<typeof claims>['claims']) => object,
  ) => [
    post('/api/claim/next', {
      body: JSON.stringify({ ...own, limit }),
      onResponse: (_status, body, context) => Object.assign(context, { taken: claimsIn(body) }),
    }),
    post(finish, {
      setupRequest: (request, context) => ({
        ...request,
        body: JSON.stringify({
          orchestratorId: 'acme',
          ...bodyOf(claims.parse({ claims: Reflect.get(context, 'taken') }).claims),
        }),
      }),
    }),
  ]
  return {
    'no-op': { requests: [{ method: 'OPTIONS', path: '/api/poll' }], itemsPerRequest: 1, rows: 0 },
    poll: {
      requests: [{ method: 'GET', path: `/api/poll?orchestratorId=acme&machineId=laptop&limit=${POLLED}` }],
      itemsPerRequest: 1,
      rows: POLLED,
    },
    claim: {
      requests: [
        post('/api/claim', {
          setupRequest: (request) => {
            nextId += 1
            return { ...request, body: JSON.stringify({ ...own, queueId: nextId }) }
          },
        }),
      ],
      itemsPerRequest: 1,
      rows: 20_000,
    },
    'claim/next + complete': {
      requests: takeAndFinish(1, '/api/complete', ([first]) => ({ ...first })),
      itemsPerRequest: 1 / 2,
      rows: 20_000,
    },
    'claim/next + complete, 100 at a time': {
      requests: takeAndFinish(BATCH, '/api/complete/batch', (taken) => ({ claims: taken })),
      itemsPerRequest: BATCH / 2,
      rows: 150_000,
    },
  }
}

/** Empties the queue and fills it anew. @returns the id before the first row's */
async function refill(postgres: BenchPostgres, rows: number): Promise<number> {
  await postgres.sql('http', 'TRUNCATE dispatch_queue, dispatch_history')
  await postgres.sql(
    'http',
    `INSERT INTO dispatch_queue (orchestrator_id, payload) SELECT 'acme', '{"issue": "ENG-142"}' FROM generate_series(1, $1::integer)`,
    [rows],
  )
  await postgres.sql('http', 'VACUUM ANALYZE dispatch_queue')
  const [row] = await postgres.sql('http', 'SELECT coalesce(min(id), 1) - 1 AS id FROM dispatch_queue')
  return Number(row?.id)
}

async function rateOf(app: BenchApp, { requests, itemsPerRequest }: Load): Promise<number> {
  const result = await autocannon({
    url: app.url,
    connections: CONNECTIONS,
    duration: SECONDS,
    requests: requests.map((request) => ({ ...request, headers: app.headers })),
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} answers were no success, and ${result.errors} requests failed.`)
  return (result['2xx'] / result.duration) * itemsPerRequest
}

export const http: Scenario = {
  name: 'http',
  title: `over HTTP, one instance, ${CONNECTIONS} connections`,
  unit: 'items/s',
  run: async (postgres, rounds) => {
    const [app] = await startApps(await postgres.createDatabase('http', 'dispatch'))
    if (app === undefined) throw new Error('There is no instance.')
    const measured = new Map<string, number[]>()
    try {
      for (let round = 0; round <= rounds; round += 1) {
        for (const name of Object.keys(loads(0))) {
          const { rows = 0 } = loads(0)[name] ?? {}
          const load = loads(await refill(postgres, rows))[name]
          if (load === undefined) continue
          const rate = Math.round(await rateOf(app, load))
          // The first round warms up.
          if (round > 0) addRound(measured, name, rate)
        }
      }
    } finally {
      await app.stop()
    }
    const figures = figuresOf(measured)
    const of = (name: string) => figures[name]?.median ?? Number.NaN
    return {
      figures,
      verdicts: [
        atLeast('× no-op: claim', of('claim') / of('no-op'), 0.65),
        atLeast('× no-op: poll', of('poll') / of('no-op'), 0.75),
        atLeast(
          '× single claims: batches of 100',
          of('claim/next + complete, 100 at a time') / of('claim/next + complete'),
          8,
        ),
      ],
    }
  },
}
