import { createServer, type ServerResponse } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { DispatchClient } from '@/lib/client/dispatch-client'
import { portOf } from './lossy-proxy'

type Answer = (response: ServerResponse, body: string) => void

let close: (() => Promise<void>) | undefined
afterEach(async () => {
  await close?.()
  close = undefined
})

/** A server that gives these answers, one after the other; the last one stays. */
async function serve(...answers: Answer[]) {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    bodies.push(Buffer.concat(await request.toArray()).toString())
    const answer = answers[Math.min(bodies.length, answers.length) - 1]
    answer?.(response, bodies.at(-1) ?? '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const client = new DispatchClient({ url: `http://127.0.0.1:${portOf(server)}/`, key: 'a-key', timeoutMs: 2_000 })
  return { client, bodies }
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response
      .writeHead(status, { 'content-type': status < 300 ? 'application/json' : 'application/problem+json', ...headers })
      .end(JSON.stringify(body))
const hangUp: Answer = (response) => response.destroy()
const problem = (code: string, status: number, more = {}) => ({
  type: `urn:dispatch-queue:problem:${code}`,
  title: 'A title',
  status,
  detail: 'What to do.',
  requestId: 'r-1',
  ...more,
})
const own = { orchestratorId: 'acme', queueId: 1, claimToken: '11111111-1111-4111-8111-111111111111' }
const completed = json(200, { outcome: 'completed' })

test('a call that is safe to repeat is sent again, word for word, when there was no answer', async () => {
  const { client, bodies } = await serve(hangUp, hangUp, json(200, { claim: null }))
  await expect(client.claim({ orchestratorId: 'acme', queueId: 1 })).resolves.toBeNull()
  expect(bodies).toHaveLength(3)
  expect(new Set(bodies).size).toBe(1)
  expect(JSON.parse(bodies[0] ?? '')).toMatchObject({ claimToken: expect.stringMatching(/^[0-9a-f-]{36}$/) })
})

test('each item of an enqueue gets an id of its own, unless it brings one', async () => {
  const { client, bodies } = await serve(json(201, { items: [] }))
  await client.enqueue({ orchestratorId: 'acme', items: [{ payload: 1 }, { payload: 2, enqueueId: own.claimToken }] })
  const { items } = JSON.parse(bodies[0] ?? '')
  expect(items[0].enqueueId).toMatch(/^[0-9a-f-]{36}$/)
  expect(items[1].enqueueId).toBe(own.claimToken)
})

test.each([503, 502, 500, 429, 408])('a %i is tried again', async (status) => {
  const { client, bodies } = await serve(json(status, problem('unavailable', status)), completed)
  await expect(client.complete(own)).resolves.toEqual({ outcome: 'completed' })
  expect(bodies).toHaveLength(2)
})

test.each([400, 401, 403, 404, 409, 413])('a %i is not tried again', async (status) => {
  const { client, bodies } = await serve(json(status, problem('claim-lost', status)), completed)
  await expect(client.complete(own)).rejects.toMatchObject({ status })
  expect(bodies).toHaveLength(1)
})

test('it gives up after so many tries, and says that there was no answer', async () => {
  const { client, bodies } = await serve(hangUp)
  await expect(client.heartbeat(own)).rejects.toMatchObject({ code: 'unreachable', status: 0, isTransient: true })
  expect(bodies).toHaveLength(5)
})

test('an error carries the problem: type, code, status, reason, detail, request id', async () => {
  const { client } = await serve(json(409, problem('claim-lost', 409, { reason: 'reclaimed' })))
  await expect(client.complete(own)).rejects.toMatchObject({
    name: 'DispatchError',
    type: 'urn:dispatch-queue:problem:claim-lost',
    code: 'claim-lost',
    status: 409,
    reason: 'reclaimed',
    message: 'What to do.',
    requestId: 'r-1',
  })
})

test('an error names every field that does not fit', async () => {
  const errors = [{ path: 'items[0].priority', message: 'Too big' }]
  const { client } = await serve(json(400, problem('invalid-request', 400, { errors })))
  await expect(client.complete(own)).rejects.toMatchObject({
    errors,
    message: 'What to do.\nitems[0].priority: Too big',
  })
})

test('the time in Retry-After is taken from the answer', async () => {
  const { client } = await serve(json(503, problem('unavailable', 503), { 'retry-after': '7' }))
  await expect(client.health()).rejects.toMatchObject({ retryAfterMs: 7_000 })
})

test('an HTML page of something in between is no success and no crash', async () => {
  const { client } = await serve((response) => response.writeHead(401, { 'content-type': 'text/html' }).end('<html>'))
  await expect(client.listKeys()).rejects.toMatchObject({ code: 'unexpected-answer', status: 401 })
})

test('an answer of another shape is an error, not a wrong value', async () => {
  const { client } = await serve(json(200, { claims: [{ queueId: 'x' }] }))
  await expect(client.claimNext({ orchestratorId: 'acme' })).rejects.toMatchObject({ code: 'unexpected-answer' })
})

test('fields that a newer server adds are no error', async () => {
  const { client } = await serve(json(200, { outcome: 'completed', inTheYear3000: true }))
  await expect(client.complete(own)).resolves.toEqual({ outcome: 'completed' })
})

test('an aborted call ends at once with an error that says so, and is not tried again', async () => {
  const abort = new AbortController()
  const { client, bodies } = await serve(() => abort.abort())
  await expect(client.poll({ orchestratorId: 'acme' }, { signal: abort.signal })).rejects.toMatchObject({
    code: 'aborted',
  })
  expect(bodies).toHaveLength(1)
})

test('an abort ends the pause between two tries', async () => {
  const abort = new AbortController()
  const { client, bodies } = await serve((response) => {
    response.destroy()
    setTimeout(() => abort.abort(), 20)
  })
  await expect(client.poll({ orchestratorId: 'acme' }, { signal: abort.signal })).rejects.toMatchObject({
    code: 'aborted',
  })
  expect(bodies.length).toBeLessThanOrEqual(2)
})

test('a kept connection that the server has closed meanwhile costs no error', async () => {
  const { client } = await serve((response) => {
    completed(response, '')
    response.socket?.once('drain', () => {})
    setImmediate(() => response.socket?.destroy())
  })
  for (let round = 0; round < 5; round += 1) await client.complete(own)
})
