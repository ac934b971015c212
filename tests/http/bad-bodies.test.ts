import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newOrchestratorId } from '../support/factories'
import { type Answer, expectInvalid, expectProblem, type RequestOptions } from './answers'
import { calls, type ValidCall } from './calls'
import { ADMIN_KEY, everyRow, setUpInstance } from './instance'

const { sql, send } = await setUpInstance()

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const megabyte = 'x'.repeat(1_000_000)

/** Ten million bytes in pieces, without a Content-Length; counts what is taken of them. */
function endless() {
  let taken = 0
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      taken += 1
      controller.enqueue(new TextEncoder().encode(taken === 1 ? '{"orchestratorId":"' : megabyte))
      if (taken === 11) controller.close()
    },
  })
  return { body, taken: () => taken }
}

/** Bodies that no route takes, with the answer to each. */
const notJson: [string, BodyInit][] = [
  ['an empty body', ''],
  ['blanks', ' \n'],
  ['text', 'orchestratorId=a'],
  ['half an object', '{"orchestratorId":"a"'],
  ['two values', '{}{}'],
  ['a comment', '{/* none */}'],
  ['a comma too many', '{"orchestratorId":"a",}'],
  ['NaN', '{"queueId":NaN}'],
  ['single quotes', "{'orchestratorId':'a'}"],
  ['a raw NUL', '{"orchestratorId":"a\0"}'],
  ['a control character in a string', '{"orchestratorId":"a\n"}'],
  ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ['UTF-8 cut in the middle of a character', new Uint8Array([0x22, 0xf0, 0x9f, 0x98, 0x22])],
  ['a surrogate in UTF-8', new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ['UTF-16', new Uint8Array(Buffer.from('{"orchestratorId":"a"}', 'utf16le'))],
  ['a BOM of UTF-16', new Uint8Array([0xff, 0xfe, 0x7b, 0, 0x7d, 0])],
  ['two BOMs', '\uFEFF\uFEFF{}'],
  ['nesting that is never closed', '['.repeat(100_000)],
]
const notAnObject = ['null', 'true', '1', '1e400', '"text"', '[]', '[{}]', nested(101), nested(100_000)]
const notJsonType: RequestOptions[] = [
  { headers: { 'content-type': 'text/plain' } },
  { headers: { 'content-type': 'application/x-www-form-urlencoded' } },
  { headers: { 'content-type': 'multipart/form-data; boundary=x' } },
  { headers: { 'content-type': 'application/problem+json' } },
  { headers: { 'content-type': 'application/jsonp' } },
  { headers: { 'content-type': 'application/json, text/plain' } },
  { headers: { 'content-type': '' } },
]
const bodyRoutes = Object.entries(calls).filter(([name]) => name.startsWith('POST ') && hasBody(name))

/** The routes whose valid call has a body; the others take none. */
function hasBody(name: string): boolean {
  return !/\/(sweep|cancel|retry|release)$/.test(name) || name === 'POST /api/release'
}

describe.each(bodyRoutes)('%s', (_, spec) => {
  let call: ValidCall
  let before: unknown[]
  const post = (options: RequestOptions): Promise<Answer> => send('POST', call.path, { key: ADMIN_KEY, ...options })

  beforeAll(async () => {
    call = await spec.prepare(sql, newOrchestratorId())
    before = await everyRow(sql)
  })
  afterAll(async () => {
    expect(await everyRow(sql), 'the refused requests changed nothing').toStrictEqual(before)
    expect((await post({ json: call.json })).status, 'the valid call still succeeds').toBe(spec.status)
  })

  test.each(notJson)('400 for %s', async (_, body) => {
    expectInvalid(await post({ body }), '')
  })

  test.each(notAnObject.map((text) => [text.slice(0, 20), text]))(
    '400 for %s instead of an object',
    async (_, body) => {
      expectInvalid(await post({ body }), '')
    },
  )

  test('400 for an empty object, with every required field', async () => {
    const { errors } = expectProblem(await post({ json: {} }), 400, 'invalid-request')
    const required = Object.keys(call.json ?? {}).filter((field) => field !== 'holding' && !isOptional(call, field))
    expect(errors?.map(({ path }) => path).sort()).toStrictEqual(required.sort())
  })

  test.each(['extra', 'OrchestratorId', 'constructor', '__proto__', 'toString', ''])(
    '400 for the unknown field "%s"',
    async (field) => {
      const text = JSON.stringify({ ...call.json, [`<${field}>`]: 1 }).replace(`<${field}>`, field)
      const { errors } = expectInvalid(await post({ body: text }), '')
      expect(errors?.[0]?.message).toContain(`"${field}"`)
    },
  )

  test('400 for an unknown field within the entries of a list', async () => {
    for (const [field, value] of Object.entries(call.json ?? {})) {
      if (!Array.isArray(value)) continue
      for (const unknown of ['extra', '__proto__']) {
        const body = JSON.stringify({ ...call.json, [field]: [{ ...value[0], '<>': {} }] }).replace('<>', unknown)
        expectInvalid(await post({ body }), `${field}[0]`)
      }
    }
  })

  test('415 for another media type, whatever the body is', async () => {
    for (const options of notJsonType)
      expectProblem(await post({ json: call.json, ...options }), 415, 'unsupported-media-type')
    expectProblem(await post({}), 415, 'unsupported-media-type')
  })

  test('413 for ten megabytes that are announced, without reading them', async () => {
    const { body, taken } = endless()
    const answer = await post({ body, headers: { 'content-length': '10000019' } })
    expect(expectProblem(answer, 413, 'too-large').limitBytes).toBe(4_000_000)
    expect(taken()).toBeLessThanOrEqual(1)
  })

  test('413 for ten megabytes that are not announced, as soon as the limit is passed', async () => {
    for (const headers of [{}, { 'content-length': '20' }, { 'content-length': 'nonsense' }]) {
      const { body, taken } = endless()
      expect(expectProblem(await post({ body, headers }), 413, 'too-large').limitBytes).toBe(4_000_000)
      expect(taken()).toBeLessThanOrEqual(7)
    }
  })

  test('413 from one byte over the limit', async () => {
    const padded = (bytes: number) => '{}'.padEnd(bytes, ' ')
    expectProblem(await post({ body: padded(4_000_000) }), 400, 'invalid-request')
    expectProblem(await post({ body: padded(4_000_001) }), 413, 'too-large')
  })
})

const isOptional = (call: ValidCall, field: string) => call.path === '/api/keys' && field === 'orchestratorId'

test('201 for a body after a BOM, which JSON allows a reader to pass over, and for any case and parameter of the media type', async () => {
  const json = JSON.stringify({ orchestratorId: newOrchestratorId(), items: [{ payload: 1 }] })
  for (const body of [json, `\uFEFF${json}`, ` \r\n\t${json}\n`]) {
    for (const type of ['application/json', 'Application/JSON; charset=UTF-8', ' application/json ;x=y']) {
      const answer = await send('POST', '/api/enqueue', { key: ADMIN_KEY, body, headers: { 'content-type': type } })
      expect(answer.status, answer.text).toBe(201)
    }
  }
})

test('the last of two fields with one name counts', async () => {
  const orchestratorId = newOrchestratorId()
  const body = `{"orchestratorId":5,"items":[{"payload":{"a":1,"a":2}}],"orchestratorId":"${orchestratorId}"}`
  const answer = await send('POST', '/api/enqueue', { key: ADMIN_KEY, body })
  expect(answer.status, answer.text).toBe(201)
  const stored = await sql('SELECT payload FROM dispatch_queue WHERE orchestrator_id = $1', [orchestratorId])
  expect(stored).toStrictEqual([{ payload: { a: 2 } }])
})
