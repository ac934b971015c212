import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newOrchestratorId } from '../support/factories'
import { type Answer, expectAnswer, expectProblem, type RequestOptions } from './answers'
import { type Audience, type CallSpec, calls } from './calls'
import { ADMIN_KEY, CRON_SECRET, everyRow, insertKey, setUpInstance } from './instance'
import { methodNames, routes } from './routes'

const { sql, send } = await setUpInstance()
const orchestratorId = newOrchestratorId()
const other = newOrchestratorId()

/** Every kind of credential, as the headers that carry it. `right` is for the orchestrator of the call, `other` for another one. */
const credentials = {
  none: {},
  'an empty header': { headers: { authorization: '' } },
  'no key after Bearer': { headers: { authorization: 'Bearer ' } },
  garbage: { key: 'garbage' },
  'a key that was never issued': { key: `dq_${randomUUID()}` },
  'a good key as Basic': { headers: { authorization: `Basic ${ADMIN_KEY}` } },
  'a good key and more': { headers: { authorization: `Bearer ${ADMIN_KEY} ${ADMIN_KEY}` } },
  'an overlong key': { key: 'x'.repeat(5_000) },
  'a key with bytes beyond ASCII': { key: `${ADMIN_KEY}é` },
  'revoked orchestrator': { key: await insertKey(sql, 'orchestrator', { orchestratorId, isRevoked: true }) },
  'revoked admin': { key: await insertKey(sql, 'admin', { isRevoked: true }) },
  'cron secret': { key: CRON_SECRET },
  producer: { key: await insertKey(sql, 'producer') },
  'right producer': { key: await insertKey(sql, 'producer', { orchestratorId }) },
  'other producer': { key: await insertKey(sql, 'producer', { orchestratorId: other }) },
  'right orchestrator': { key: await insertKey(sql, 'orchestrator', { orchestratorId }) },
  'other orchestrator': { key: await insertKey(sql, 'orchestrator', { orchestratorId: other }) },
  viewer: { key: await insertKey(sql, 'viewer') },
  'right viewer': { key: await insertKey(sql, 'viewer', { orchestratorId }) },
  'other viewer': { key: await insertKey(sql, 'viewer', { orchestratorId: other }) },
  'root admin': { key: ADMIN_KEY },
  'issued admin': { key: await insertKey(sql, 'admin') },
} as const satisfies Record<string, RequestOptions>
type Credential = keyof typeof credentials

const names = Object.keys(credentials).filter((name): name is Credential => name in credentials)
const strangers = names.slice(0, names.indexOf('producer'))
const isStranger = (credential: Credential) => strangers.includes(credential)

/** Who gets in; everybody else with a good key is refused by 403. */
const welcome: Record<Audience, readonly Credential[]> = {
  anyone: names,
  cron: ['cron secret'],
  admin: ['root admin', 'issued admin'],
  producer: ['producer', 'right producer', 'root admin', 'issued admin'],
  orchestrator: ['right orchestrator', 'root admin', 'issued admin'],
  viewer: ['viewer', 'right viewer', 'root admin', 'issued admin'],
}

/** A key that is bound to another orchestrator is not told whether the work exists. */
const hidden = { 'GET /api/work/[queueId]': 'other viewer' }

function expectedStatus(name: string, { audience, status }: CallSpec, credential: Credential): number {
  if (welcome[audience].includes(credential)) return status
  if (isStranger(credential) || audience === 'cron') return 401
  return Object.entries(hidden).some(([call, viewer]) => call === name && viewer === credential) ? 404 : 403
}

function expectRefusal(answer: Answer, status: number): void {
  if (status === 404) expectProblem(answer, 404, 'not-found')
  else expectProblem(answer, status, status === 401 ? 'unauthorized' : 'forbidden')
  expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer realm="dispatch-queue"' : null)
}

describe.each(Object.entries(calls))('%s', (name, call) => {
  const [method = '', pattern = ''] = name.split(' ')
  const verb = methodNames.find((known) => known === method) ?? 'GET'

  test.each(names.map((credential) => [expectedStatus(name, call, credential), credential] as const))(
    '%i with credential: %s',
    async (status, credential) => {
      const { path, json } = await call.prepare(sql, orchestratorId)
      const before = await everyRow(sql)
      const answer = await send(verb, path, { ...credentials[credential], json })
      if (status !== call.status) {
        expectRefusal(answer, status)
        expect(await everyRow(sql)).toStrictEqual(before)
      } else if (call.answer === null) expect(answer).toMatchObject({ status, text: '' })
      else expectAnswer(answer, status, call.answer)
    },
  )

  test.runIf(call.audience !== 'anyone')('401 before anything else is looked at', async () => {
    const path = pattern.replaceAll(/\[\w+\]/g, 'no-id')
    const answer = await send(verb, `${path}?key=${ADMIN_KEY}`, verb === 'POST' ? { body: '{' } : {})
    expectProblem(answer, 401, 'unauthorized')
  })
})

describe('every route of the file system', () => {
  const served = routes.filter(({ path }) => !path.includes('[...'))

  test.each(served)('$path answers every method, and those it allows are among the calls above', async (route) => {
    expect(Object.keys(route.handlers).filter((name) => route.handlers[name] !== undefined)).toStrictEqual([
      ...methodNames,
    ])
    const answer = await send('OPTIONS', route.path.replaceAll(/[[\]]/g, ''))
    expect(answer.status).toBe(204)
    const allowed = answer.headers.get('allow')?.split(', ') ?? []
    const listed = Object.keys(calls).filter((name) => name.split(' ')[1] === route.path)
    const own = allowed.filter((method) => method !== 'OPTIONS' && method !== 'HEAD')
    expect(listed.sort()).toStrictEqual(own.map((method) => `${method} ${route.path}`).sort())
    expect(allowed.includes('HEAD')).toBe(own.includes('GET'))
  })

  test('is there for each of the calls above', () => {
    const paths = new Set(Object.keys(calls).map((name) => name.split(' ')[1]))
    expect([...paths].sort()).toStrictEqual(served.map(({ path }) => path).sort())
  })
})

describe('a key for another orchestrator', () => {
  const claim = (key: string, body: object) => send('POST', '/api/claim', { key, json: body })

  test('403 in the same words for an orchestrator that exists and for one that does not', async () => {
    const { key } = credentials['other orchestrator']
    const { path, json } = (await calls['POST /api/claim']?.prepare(sql, orchestratorId)) ?? { path: '', json: {} }
    const existing = expectProblem(await send('POST', path, { key, json }), 403, 'forbidden')
    const missing = expectProblem(
      await claim(key, { orchestratorId: newOrchestratorId(), queueId: 1 }),
      403,
      'forbidden',
    )
    expect({ ...existing, requestId: '' }).toStrictEqual({ ...missing, requestId: '' })
  })

  test('400 without an orchestratorId: it is never taken from the key', async () => {
    expectProblem(await claim(credentials['right orchestrator'].key, { queueId: 1 }), 400, 'invalid-request')
  })

  test('200 with null for work of another orchestrator, which stays as it was', async () => {
    const { json } = (await calls['POST /api/claim']?.prepare(sql, other)) ?? {}
    const before = await everyRow(sql)
    const answer = await claim(credentials['right orchestrator'].key, { ...json, orchestratorId })
    expect(answer.body).toStrictEqual({ claim: null })
    expect(await everyRow(sql)).toStrictEqual(before)
  })

  test('409 unknown for a claim of another orchestrator, token and all', async () => {
    for (const name of ['POST /api/heartbeat', 'POST /api/complete', 'POST /api/fail', 'POST /api/release']) {
      const { path, json } = (await calls[name]?.prepare(sql, other)) ?? { path: '', json: {} }
      const before = await everyRow(sql)
      const { key } = credentials['right orchestrator']
      const answer = await send('POST', path, { key, json: { ...json, orchestratorId } })
      expect(expectProblem(answer, 409, 'claim-lost').reason).toBe('unknown')
      expect(await everyRow(sql)).toStrictEqual(before)
    }
  })
})
