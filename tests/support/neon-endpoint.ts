import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { DatabaseError, Pool, type PoolClient, type QueryArrayResult } from 'pg'
import { z } from 'zod'

/**
 * What a request meets instead of its answer. `server-error` and `bad-gateway` come from Neon's proxy and run nothing;
 * `reset-after-run` runs the statement, then drops the connection; `hang` runs nothing and never answers.
 */
export type NeonFault = 'server-error' | 'bad-gateway' | 'hang' | 'reset-after-run'

export interface NeonEndpoint {
  /** For `DISPATCH_NEON_ENDPOINT`. */
  readonly url: string
  /** The texts of the statements received so far, those that met a fault too. */
  readonly statements: readonly string[]
  /** Makes the next requests, one for each fault, meet these faults in this order. */
  inject(...faults: NeonFault[]): void
  stop(): Promise<void>
}

const oneQuery = z.object({ query: z.string(), params: z.array(z.union([z.string(), z.null()])).default([]) })
const requestBody = z.union([z.object({ queries: z.array(oneQuery) }), oneQuery])
type Query = z.infer<typeof oneQuery>

const errorFields = [
  'severity',
  'code',
  'detail',
  'hint',
  'position',
  'internalPosition',
  'internalQuery',
  'where',
  'schema',
  'table',
  'column',
  'dataType',
  'constraint',
  'file',
  'line',
  'routine',
] as const

const isolationLevels = new Map([
  ['ReadUncommitted', 'READ UNCOMMITTED'],
  ['ReadCommitted', 'READ COMMITTED'],
  ['RepeatableRead', 'REPEATABLE READ'],
  ['Serializable', 'SERIALIZABLE'],
])

// The driver parses values itself, by their type's oid, so they stay text here.
const asText = { getTypeParser: () => (value: string) => value }

interface Answer {
  status: number
  contentType: string
  body: string
}

/**
 * Speaks the HTTP side of `@neondatabase/serverless` (POST /sql) in front of any Postgres, so that the real driver can be
 * tested. The database is the one that the request's `Neon-Connection-String` header names.
 *
 * @param options.poolSize  connections kept for each database
 * @param options.latencyMs how long each request is held before its statement runs
 */
export async function startNeonEndpoint(
  options: { poolSize?: number; latencyMs?: number } = {},
): Promise<NeonEndpoint> {
  const pools = new Map<string, Pool>()
  const statements: string[] = []
  const faults: NeonFault[] = []

  function poolFor(connectionString: string): Pool {
    const known = pools.get(connectionString)
    if (known !== undefined) return known
    const pool = new Pool({ connectionString, max: options.poolSize ?? 10 })
    pool.on('error', () => {})
    pool.on('connect', (client) => client.on('error', () => {}))
    pools.set(connectionString, pool)
    return pool
  }

  async function answerTo(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = requestBody.parse(JSON.parse(await text(request)))
    statements.push(...('queries' in body ? body.queries : [body]).map((each) => each.query))
    const fault = faults.shift()
    if (fault === 'hang') return
    if (options.latencyMs !== undefined) await wait(options.latencyMs)
    const pool = poolFor(header(request, 'neon-connection-string'))
    const answer = proxyFault(fault) ?? (await runBody(pool, body, request))
    if (fault === 'reset-after-run') request.socket.resetAndDestroy()
    else send(response, answer)
  }

  // A request that is no request, or that its client gave up, must not end the test run.
  const server = createServer((request, response) => {
    answerTo(request, response).catch((error: unknown) => send(response, json(500, { message: String(error) })))
  })
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })

  return {
    url: `http://127.0.0.1:${port}/sql`,
    statements,
    inject: (...next) => void faults.push(...next),
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await Promise.all([...pools.values()].map((pool) => pool.end()))
    },
  }
}

const header = (request: IncomingMessage, name: string): string => String(request.headers[name])

function send(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, { 'content-type': answer.contentType })
  response.end(answer.body)
}

const json = (status: number, body: unknown): Answer => ({
  status,
  contentType: 'application/json',
  body: JSON.stringify(body),
})

function proxyFault(fault: NeonFault | undefined): Answer | undefined {
  if (fault === 'server-error') return json(500, { message: 'Control plane request failed' })
  if (fault === 'bad-gateway') {
    return { status: 502, contentType: 'text/html', body: '<html><body><h1>502 Bad Gateway</h1></body></html>' }
  }
  return undefined
}

async function runBody(pool: Pool, body: z.infer<typeof requestBody>, request: IncomingMessage): Promise<Answer> {
  try {
    if ('queries' in body) return json(200, { results: await runBatch(pool, body.queries, request) })
    return json(200, shape(await run(pool, body)))
  } catch (error) {
    if (!(error instanceof DatabaseError)) return json(500, { message: String(error) })
    const refusal = error
    return json(400, {
      message: refusal.message,
      ...Object.fromEntries(errorFields.map((field) => [field, refusal[field]])),
    })
  }
}

async function runBatch(pool: Pool, queries: Query[], request: IncomingMessage): Promise<unknown[]> {
  const client = await pool.connect()
  try {
    const level = isolationLevels.get(header(request, 'neon-batch-isolation-level'))
    const access = header(request, 'neon-batch-read-only') === 'true' ? ' READ ONLY' : ''
    await client.query(`BEGIN${level === undefined ? '' : ` ISOLATION LEVEL ${level}`}${access}`)
    const results: unknown[] = []
    for (const query of queries) results.push(shape(await run(client, query)))
    await client.query('COMMIT')
    return results
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}

const run = (on: Pool | PoolClient, { query, params }: Query) =>
  on.query({ text: query, values: params, rowMode: 'array', types: asText })

const shape = (result: QueryArrayResult<unknown[]>) => ({
  command: result.command,
  rowCount: result.rowCount,
  rowAsArray: true,
  fields: result.fields.map((field) => ({ ...field, format: 'text' })),
  rows: result.rows,
})
