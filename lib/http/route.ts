import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { type Config, getConfig } from '@/lib/config'
import { type Db, getDb } from '@/lib/db/client'
import { authenticate, type Caller, requireOrchestrator } from '@/lib/http/auth'
import { carryPastResponse } from '@/lib/http/background'
import { readJsonBody } from '@/lib/http/body'
import { jsonResponse } from '@/lib/http/json'
import { ProblemError, problemResponse } from '@/lib/http/problem'
import { noteCachedKeyUse } from '@/lib/instance/key-cache'
import type { Role } from '@/lib/queue/create-key'
import manifest from '@/package.json' with { type: 'json' }

export type Handler = (
  request: Request,
  context: { params: Promise<Record<string, string | string[] | undefined>> },
) => Promise<Response>

/** What a route's own code is given: everything checked, little of HTTP. */
export interface Call<Input, Path> {
  db: Db
  config: Config
  caller: Caller
  input: Input
  path: Path
  headers: Headers
  /** Aborts when the client hangs up. */
  signal: AbortSignal
}

type RouteSpec<Input, Path> = {
  /** Who may call, besides admins. */
  roles: readonly Role[]
  /** Of a success; 204 has no body. */
  status?: 200 | 201 | 204
  /** Its result is the answer. */
  handle: (call: Call<Input, Path>) => Promise<unknown>
} & ({ query: z.ZodType<Input> } | { body: z.ZodType<Input> })

/** No parameters at all: an unknown one is refused, not ignored. */
export const nothing = z.strictObject({})

/**
 * Makes a route handler. In this order: key (401), role (403), media type (415), size (413), shape (400), orchestrator
 * (403); then the route's own code; every error becomes a problem document.
 */
export function route<Input>(spec: RouteSpec<Input, unknown>): Handler {
  return pathRoute({ ...spec, path: z.unknown() })
}

/** {@link route} with parameters in its path. */
export function pathRoute<Input, Path>(spec: RouteSpec<Input, Path> & { path: z.ZodType<Path> }): Handler {
  return answered(async (request, params) => {
    const [config, db] = [getConfig(), getDb()]
    const caller = await authenticate(request, spec.roles, db, config)
    const raw = 'body' in spec ? await readJsonBody(request) : queryOf(request)
    const path = parse(spec.path, params)
    const input = parse('body' in spec ? spec.body : spec.query, raw)
    requireOrchestrator(caller, input)
    if (caller.keyId !== null) carryPastResponse(noteCachedKeyUse(db, caller.keyId))
    const answer = await spec.handle({
      db,
      config,
      caller,
      input,
      path,
      headers: request.headers,
      signal: request.signal,
    })
    return spec.status === 204 ? new Response(null, { status: 204 }) : jsonResponse(answer, spec.status ?? 200)
  })
}

/** A handler without a key's check: for what is public or has a secret of its own. Errors become problem documents. */
export function answered(handle: (request: Request, params: unknown) => Promise<Response>): Handler {
  return async (request, context) => {
    const requestId = request.headers.get('x-vercel-id') ?? randomUUID()
    try {
      const response = await handle(request, await context.params)
      response.headers.set('x-request-id', requestId)
      if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store')
      return withVersion(response)
    } catch (error) {
      return withVersion(problemResponse(error, requestId))
    }
  }
}

/** Tells clients the server's version, so that one of another version can say so. */
function withVersion(response: Response): Response {
  response.headers.set('dispatch-version', manifest.version)
  return response
}

/** A name given twice becomes a list, which no schema of a query takes. */
function queryOf(request: Request): Record<string, string | string[]> {
  const { searchParams } = new URL(request.url)
  return Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => {
      const values = searchParams.getAll(name)
      return [name, values.length === 1 ? (values[0] ?? '') : values]
    }),
  )
}

/** @throws {ProblemError} 400 that lists every field which does not fit */
function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const errors = parsed.error.issues.map((issue) => ({ path: z.core.toDotPath(issue.path), message: issue.message }))
  throw new ProblemError('invalid-request', 'Correct the fields listed under "errors" and send the request again.', {
    errors,
  })
}
