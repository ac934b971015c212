import { describe, expect, test } from 'vitest'
import { newOrchestratorId } from '../support/factories'
import { expectInvalid, expectProblem } from './answers'
import { calls } from './calls'
import { ADMIN_KEY, CRON_SECRET, everyRow, setUpInstance } from './instance'
import { methodNames, routes } from './routes'

const { sql, send } = await setUpInstance()
const x = (count: number) => 'x'.repeat(count)

/** Query strings that fit no route, and for GET /api/poll and GET /api/work the field that is wrong. */
const poll = 'orchestratorId=a'
const refused: [path: string, query: string, field: string][] = [
  ['/api/poll', '', 'orchestratorId'],
  ['/api/poll', 'orchestratorId=', 'orchestratorId'],
  ['/api/poll', `orchestratorId=${x(201)}`, 'orchestratorId'],
  ['/api/poll', 'orchestratorId=a%00', 'orchestratorId'],
  ['/api/poll', 'orchestratorId=a%0a', 'orchestratorId'],
  ['/api/poll', 'orchestratorId=a&orchestratorId=b', 'orchestratorId'],
  ['/api/poll', 'orchestratorId=a&orchestratorId=a', 'orchestratorId'],
  ['/api/poll', `${poll}&machineId=`, 'machineId'],
  ['/api/poll', `${poll}&machineId=${x(201)}`, 'machineId'],
  ...[
    '0',
    '101',
    '-1',
    'abc',
    '',
    '1.5',
    '1e1',
    '+5',
    '0x10',
    '%205',
    '9007199254740993',
    '５',
    '5&limit=6',
    'NaN',
  ].map((limit): [string, string, string] => ['/api/poll', `${poll}&limit=${limit}`, 'limit']),
  ...['25001', '-1', 'x', ''].map((ms): [string, string, string] => ['/api/poll', `${poll}&waitMs=${ms}`, 'waitMs']),
  ['/api/work', 'state=stalest', 'state'],
  ['/api/work', 'state=', 'state'],
  ['/api/work', 'state=queued&state=failed', 'state'],
  ['/api/work', 'limit=0', 'limit'],
  ['/api/work', 'limit=101', 'limit'],
  ['/api/work', 'cursor=abc', 'cursor'],
  ['/api/work', 'cursor=0', 'cursor'],
  ['/api/work', 'cursor=9007199254740992', 'cursor'],
  ['/api/work', `q=${x(201)}`, 'q'],
  ['/api/work', 'q=%00', 'q'],
  ['/api/work', 'machineId=', 'machineId'],
  ['/api/work', 'orchestratorId=', 'orchestratorId'],
]

test.each(refused)('400 for %s?%s, naming %s', async (path, query, field) => {
  const { errors = [] } = expectProblem(
    await send('GET', `${path}?${query}`, { key: ADMIN_KEY }),
    400,
    'invalid-request',
  )
  expect([...new Set(errors.map((error) => error.path))]).toStrictEqual([field])
})

const withoutBody = Object.entries(calls).filter(
  ([name, { audience }]) =>
    audience !== 'anyone' && audience !== 'cron' && !/^POST \/api\/(?!work\/\[|sweep)/.test(name),
)

describe.each(withoutBody)('%s', (name, spec) => {
  const method = methodNames.find((known) => name.startsWith(`${known} `)) ?? 'GET'

  test.each(['key=secret', 'Limit=5', '__proto__=x', 'constructor=x', '=x', 'orchestratorid=a', '%ff=1'])(
    '400 for the unknown parameter %s, and nothing changes',
    async (parameter) => {
      const { path } = await spec.prepare(sql, newOrchestratorId())
      const before = await everyRow(sql)
      expectInvalid(await send(method, `${path}${path.includes('?') ? '&' : '?'}${parameter}`, { key: ADMIN_KEY }), '')
      expect(await everyRow(sql)).toStrictEqual(before)
    },
  )
})

test('401 for a key in the query string, and nowhere but in the header is one looked for', async () => {
  for (const name of ['key', 'token', 'access_token', 'authorization', 'apiKey']) {
    const answer = await send('GET', `/api/poll?${poll}&${name}=${ADMIN_KEY}`, {
      headers: { cookie: `${name}=${ADMIN_KEY}`, 'x-api-key': ADMIN_KEY, 'proxy-authorization': `Bearer ${ADMIN_KEY}` },
    })
    expectProblem(answer, 401, 'unauthorized')
  }
})

describe('methods', () => {
  const served = routes.filter(({ path }) => !path.includes('[...'))

  test.each(served)(
    '$path: 405 with Allow for each method it does not have; OPTIONS tells which it has',
    async ({ path }) => {
      const url = path.replace('[queueId]', '1').replace('[id]', '1')
      const options = await send('OPTIONS', url)
      const allow = options.headers.get('allow') ?? ''
      expect(options).toMatchObject({ status: 204, text: '' })
      expect(options.headers.get('cache-control')).toMatch(/^no-store\b/)
      for (const method of methodNames.filter((name) => !allow.split(', ').includes(name))) {
        for (const key of [undefined, ADMIN_KEY]) {
          const answer = await send(method, url, { key })
          expect(expectProblem(answer, 405, 'method-not-allowed').detail).toContain(method)
          expect(answer.headers.get('allow')).toBe(allow)
        }
      }
    },
  )

  test.each(['/api/unknown', '/api/claims', '/api/work/1/finish', '/api/keys/1/x', '/api/poll/', '/api/a/b/c/d'])(
    '%s: 404 as a problem document, by every method, with and without a key',
    async (path) => {
      for (const method of methodNames) {
        expectProblem(await send(method, path), 404, 'not-found')
        expectProblem(
          await send(method, path, { key: ADMIN_KEY, ...(method === 'POST' && { body: '{' }) }),
          404,
          'not-found',
        )
      }
    },
  )

  const gets = Object.entries(calls).filter(([name]) => name.startsWith('GET '))
  test.each(gets)('HEAD answers as %s does, key and all', async (_, spec) => {
    const { path } = await spec.prepare(sql, newOrchestratorId())
    const key = spec.audience === 'cron' ? CRON_SECRET : ADMIN_KEY
    expect((await send('HEAD', path, { key })).status).toBe(200)
    if (spec.audience !== 'anyone') expect((await send('HEAD', path)).status).toBe(401)
  })
})
