import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { enqueueResponse } from '@/lib/protocol/enqueue'
import { pollQueryResponse } from '@/lib/protocol/poll'
import { healthResponse } from '@/lib/protocol/service'
import { expectAnswer, expectProblem } from '../http/answers'
import { newOrchestrator } from '../http/instance'
import { insertWork } from '../support/factories'
import { setUpServed } from './served'

const { database, app, send } = await setUpServed()
const { sql } = database
const { orchestratorId, key } = await newOrchestrator(sql)
const pollPath = `/api/poll?orchestratorId=${orchestratorId}`

const isUp = async () => expectAnswer(await send('GET', '/api/health'), 200, healthResponse)

describe.each(['/api/work/%E0%A4%A', '/api/%', '/api/keys/%zz', '/api/work/..%2f..%2fetc', '/api/nope', '/api'])(
  '%s',
  (path) => {
    test('404 as a problem document, not as a page or a 500 of the framework', async () => {
      expectProblem(await send('GET', path, { key }), 404, 'not-found')
      await isUp()
    })
  },
)

test('HEAD answers as GET does, without a body, and with the same key', async () => {
  const answer = await send('HEAD', pollPath, { key })
  expect(answer).toMatchObject({ status: 200, text: '' })
  expect((await send('HEAD', pollPath)).status).toBe(401)
})

test('413 for a body of 10 MB, with or without its length, and the server goes on', async () => {
  const body = Buffer.alloc(10_000_000, 'x')
  const stream = new Blob([body]).stream()
  for (const each of [body, stream]) {
    // The server may hang up while the client is still sending, which is an answer too.
    const status = await send('POST', '/api/enqueue', { key, body: each }).then(
      (answer) => answer.status,
      () => 413,
    )
    expect([403, 413]).toContain(status)
  }
  await isUp()
})

test('a payload comes back as it went in, __proto__ and all', async () => {
  const admin = 'admin-key-of-the-tests'
  const text = '{"__proto__":{"x":1},"constructor":1,"emoji":"👨‍👩‍👧‍👦😀","bidi":"\\u202eabc","control":"\\u0001"}'
  const body = `{"orchestratorId":"${orchestratorId}-proto","items":[{"payload":${text}}]}`
  const { items } = expectAnswer(await send('POST', '/api/enqueue', { key: admin, body }), 201, enqueueResponse)
  const answer = await send('POST', '/api/claim', {
    key: admin,
    json: { orchestratorId: `${orchestratorId}-proto`, queueId: items[0]?.queueId },
  })
  const stored = /"payload":(\{.*\}),"claimToken"/.exec(answer.text)?.[1] ?? ''
  expect(Object.entries(JSON.parse(stored)).sort()).toStrictEqual(Object.entries(JSON.parse(text)).sort())
})

test('bytes that are no HTTP, and a client that hangs up in the middle, harm nobody', async () => {
  for (const bytes of [
    '\0\0\0nonsense\r\n\r\n',
    'POST /api/enqueue HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"orch',
  ]) {
    await new Promise<void>((resolve) => {
      const socket = connect(app.port, '127.0.0.1', () => socket.write(bytes, () => socket.destroy()))
      socket.on('close', () => resolve()).on('error', () => {})
    })
  }
  await isUp()
})

test('every connection to the database cut: one answer may be a 503, then all is well, in the same process', async () => {
  await Promise.all(Array.from({ length: 10 }, () => send('GET', pollPath, { key })))
  await sql(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  const first = await send('GET', pollPath, { key })
  expect([200, 503]).toContain(first.status)
  expectAnswer(await send('GET', pollPath, { key }), 200, pollQueryResponse)
  expect(() => process.kill(app.pid, 0)).not.toThrow()
})

test('what changed in the database is in the next answer: nothing is frozen or cached', async () => {
  const list = async () => expectAnswer(await send('GET', pollPath, { key }), 200, pollQueryResponse).queued.length
  const before = await list()
  await insertWork(sql, { orchestratorId })
  expect(await list()).toBe(before + 1)
})

test('a short answer is not compressed, and a long one is', async () => {
  const own = await newOrchestrator(sql)
  const encodingOf = async () => {
    const headers = { authorization: `Bearer ${own.key}`, 'accept-encoding': 'gzip' }
    const response = await fetch(`${app.url}/api/poll?orchestratorId=${own.orchestratorId}&limit=50`, { headers })
    expect((await response.text()).length).toBeGreaterThan(0)
    return response.headers.get('content-encoding')
  }
  expect(await encodingOf()).toBeNull()
  for (let n = 0; n < 50; n += 1) await insertWork(sql, { orchestratorId: own.orchestratorId })
  expect(await encodingOf()).toBe('gzip')
})
