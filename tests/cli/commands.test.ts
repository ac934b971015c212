import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { announceLocalServer } from '@/lib/process/local-servers'
import { setUpServed } from '../app/served'
import { portOf } from '../client/lossy-proxy'
import { ADMIN_KEY, insertKey } from '../http/instance'
import { insertClaimed, insertFinished, insertWork, newOrchestratorId, onlyRow } from '../support/factories'
import { dispatch, home } from './dispatch'

const { app, database } = await setUpServed()
const { sql } = database
const env = { DISPATCH_URL: app.url, DISPATCH_KEY: ADMIN_KEY }
const run = (...args: string[]) => dispatch(args, { env })
const lines = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

test('the app serves the command as one file, which runs in an empty folder', async () => {
  const served = Buffer.from(await (await fetch(`${app.url}/dispatch.mjs`)).arrayBuffer())
  expect(served.equals(readFileSync(path.join(home, 'dispatch.mjs')))).toBe(true)
  expect(await run('--version')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  for (const command of [
    'work',
    'enqueue',
    'ls',
    'show',
    'watch',
    'release',
    'retry',
    'cancel',
    'keys',
    'sweep',
    'doctor',
  ]) {
    const help = await run(command, '--help')
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: dispatch') })
  }
})

describe('settings', () => {
  const withConfig = (name: string, config?: object) => {
    const directory = path.join(home, name)
    mkdirSync(path.join(directory, 'dispatch'), { recursive: true })
    if (config) writeFileSync(path.join(directory, 'dispatch', 'config.json'), JSON.stringify(config))
    return directory
  }
  const nowhere = 'http://127.0.0.1:1'

  test('are taken from flags, then the environment, then config.json', async () => {
    const config = { XDG_CONFIG_HOME: withConfig('full', { url: app.url, key: ADMIN_KEY }) }
    expect(await dispatch(['ls'], { env: config })).toMatchObject({ code: 0 })
    expect(await dispatch(['ls'], { env: { ...config, DISPATCH_URL: nowhere, DISPATCH_KEY: 'x' } })).toMatchObject({
      code: 69,
    })
    const flags = ['ls', '--url', app.url, '--key', ADMIN_KEY]
    expect(await dispatch(flags, { env: { ...config, DISPATCH_URL: nowhere, DISPATCH_KEY: 'x' } })).toMatchObject({
      code: 0,
    })
  })

  test('are found by themselves on the machine of a local server', async () => {
    const directory = withConfig('local')
    const adminKeyFile = path.join(home, 'admin-key')
    writeFileSync(adminKeyFile, `${ADMIN_KEY}\n`)
    const takeBack = announceLocalServer(path.join(directory, 'dispatch'), app.port, { url: app.url, adminKeyFile })
    expect(await dispatch(['ls'], { env: { XDG_CONFIG_HOME: directory } })).toMatchObject({ code: 0 })
    const byName = app.url.replace('127.0.0.1', 'localhost')
    expect(await dispatch(['ls', '--url', byName], { env: { XDG_CONFIG_HOME: directory } })).toMatchObject({ code: 0 })
    takeBack()
    expect(await dispatch(['ls'], { env: { XDG_CONFIG_HOME: directory } })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('npm start'),
    })
  })

  test('never send a key to a server that it was not kept for', async () => {
    const seen: (string | undefined)[] = []
    const stranger = createServer((request, response) => {
      seen.push(request.headers.authorization)
      response.end()
    })
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void stranger.close())
    const config = { XDG_CONFIG_HOME: withConfig('other', { url: app.url, key: ADMIN_KEY }) }
    const result = await dispatch(['ls', '--url', `http://127.0.0.1:${portOf(stranger)}`], { env: config })
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('No key for') })
    expect(seen).toStrictEqual([])
  })

  test.each([
    ['a config.json that is none', { XDG_CONFIG_HOME: withConfig('bad', { url: 5 }) }, 'must be JSON like'],
    ['a URL that is none', { DISPATCH_URL: 'queue.example.com', DISPATCH_KEY: 'x' }, 'must be an http or https URL'],
  ])('say what is wrong with %s', async (_what, bad, message) => {
    expect(await dispatch(['ls'], { env: bad })).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  })
})

test.each([
  ['an unknown command', ['lss'], 2],
  ['an unknown option', ['ls', '--stat', 'failed'], 2],
  ['a state that there is not', ['ls', '--state', 'lost'], 2],
  ['a delay that is none', ['enqueue', '--orchestrator', 'acme', '--delay', '10 minutes', '1'], 2],
  ['an id that is none', ['show', 'ENG-142'], 2],
  ['a payload that is not JSON', ['enqueue', '--orchestrator', 'acme', '{a:1}'], 2],
  ['no payload at all', ['enqueue', '--orchestrator', 'acme'], 2],
  ['a file that is not there', ['enqueue', '--orchestrator', 'acme', '--file', 'nope.json'], 2],
  ['work that is unknown', ['show', '9007199254740991'], 4],
  ['a server of another name', ['ls', '--url', 'http://127.0.0.1:1'], 69],
  ['a key that is wrong', ['ls', '--key', 'dq_wrong'], 3],
])('%s ends with a sentence and its exit code', async (_what, args, code) => {
  const result = await run(...args)
  expect(result).toMatchObject({ code, stdout: '' })
  expect(result.stderr).toMatch(/^(error|.*\n?error)/)
  expect(result.stderr).not.toMatch(/\bat .*\.mjs|ADMIN|node:internal/)
})

describe('enqueue', () => {
  const stored = (orchestratorId: string) =>
    sql('SELECT payload FROM dispatch_queue WHERE orchestrator_id = $1 ORDER BY id', [orchestratorId]).then((rows) =>
      rows.map(({ payload }) => payload),
    )

  test('takes payloads as arguments, with all options', async () => {
    const orchestratorId = newOrchestratorId()
    const options = [
      '--priority',
      '-5',
      '--dedupe-key',
      'ENG-1',
      '--delay',
      '10m',
      '--max-attempts',
      '7',
      '--lease',
      '90s',
    ]
    const { code, stdout } = await run('enqueue', '--orchestrator', orchestratorId, ...options, '{"issue":"ENG-1"}')
    expect(code).toBe(0)
    expect(await onlyRow(sql, Number(stdout))).toMatchObject({
      payload: { issue: 'ENG-1' },
      priority: -5,
      dedupe_key: 'ENG-1',
      max_attempts: 7,
      claim_timeout_ms: 90_000,
    })
    const again = await run('enqueue', '--orchestrator', orchestratorId, '--dedupe-key', 'ENG-1', '--json', '{}')
    expect(lines(again.stdout)).toStrictEqual([{ queueId: Number(stdout), enqueued: false }])
  })

  test('takes a file or standard input as one payload, and each line with --ndjson, thousands in batches', async () => {
    const [one, many] = [newOrchestratorId(), newOrchestratorId()]
    writeFileSync(path.join(home, 'one.json'), '{\n "issue": "ENG-1"\n}\n')
    expect((await run('enqueue', '--orchestrator', one, '--file', 'one.json')).code).toBe(0)
    expect((await dispatch(['enqueue', '--orchestrator', one], { env, input: '[1, 2]' })).code).toBe(0)
    expect(await stored(one)).toStrictEqual([{ issue: 'ENG-1' }, [1, 2]])
    const payloads = Array.from({ length: 2_500 }, (_, n) => ({ n, text: 'x'.repeat(n % 7) }))
    const input = `${payloads.map((payload) => JSON.stringify(payload)).join('\n')}\n\n`
    const result = await dispatch(['enqueue', '--orchestrator', many, '--ndjson'], { env, input })
    expect(result.stdout.trim().split('\n')).toHaveLength(2_500)
    expect(await stored(many)).toStrictEqual(payloads)
  })

  test('names the line that is not JSON, and how many were put in before it', async () => {
    const orchestratorId = newOrchestratorId()
    const input = `${'1\n'.repeat(1_500)}{oops\n`
    const result = await dispatch(['enqueue', '--orchestrator', orchestratorId, '--ndjson'], { env, input })
    expect(result).toMatchObject({ code: 2, stderr: expect.stringMatching(/1000 were put in[\s\S]*line 1501/) })
    expect(await stored(orchestratorId)).toHaveLength(1_000)
  })
})

test('ls lists by filters and over pages, as a table for people and as lines of JSON for programs', async () => {
  const orchestratorId = newOrchestratorId()
  for (let n = 0; n < 130; n += 1) await insertWork(sql, { orchestratorId })
  const { queueId } = await insertFinished(sql, { orchestratorId, outcome: 'failed', lastError: 'red\u001b[2J' })
  const all = await run('ls', '--orchestrator', orchestratorId, '--all', '--json')
  expect(lines(all.stdout)).toHaveLength(131)
  const failed = await run('ls', '--orchestrator', orchestratorId, '--state', 'failed')
  expect(failed.stdout).toContain(`${queueId}`)
  expect(failed.stdout).toContain('red\\u001b[2J')
  expect(failed.stdout).not.toContain('\u001b')
  expect((await run('ls', '--orchestrator', newOrchestratorId())).stdout).toBe('No work matches.\n')
})

test('show tells everything, and why nobody has claimed it', async () => {
  const { queueId } = await insertWork(sql, { payload: { issue: 'ENG-150' } })
  const shown = await run('show', `${queueId}`)
  expect(shown.stdout).toMatch(/It is next in line\. No machine of orchestrator/)
  expect(shown.stdout).toContain('"issue": "ENG-150"')
  expect(lines((await run('show', `${queueId}`, '--json')).stdout)).toMatchObject([{ queueId, state: 'queued' }])
})

test('release, retry and cancel act on several, and what is refused for one holds back no other', async () => {
  const [claimed, other] = [await insertClaimed(sql), await insertWork(sql)]
  const released = await run('release', `${other.queueId}`, `${claimed.queueId}`, '--json')
  expect(released.code).toBe(4)
  expect(lines(released.stdout)).toStrictEqual([
    { queueId: other.queueId, refused: 'wrong-state', state: 'queued' },
    { queueId: claimed.queueId, outcome: 'released' },
  ])
  expect(await run('cancel', `${claimed.queueId}`, `${other.queueId}`)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('cancelled'),
  })
  expect(await run('retry', `${claimed.queueId}`)).toMatchObject({ code: 0, stdout: `${claimed.queueId} queued\n` })
})

test('keys are made, listed without their secrets, and revoked', async () => {
  const made = await run(
    'keys',
    'create',
    '--name',
    'acme machines',
    '--role',
    'orchestrator',
    '--orchestrator',
    'acme',
    '--json',
  )
  const [{ id = '', key = '' } = {}] = lines(made.stdout)
  expect(await dispatch(['ls'], { env: { ...env, DISPATCH_KEY: `${key}` } })).toMatchObject({ code: 3 })
  const listed = await run('keys', 'ls')
  expect(listed.stdout).toContain('acme machines')
  expect(listed.stdout).not.toContain(`${key}`)
  expect(await run('keys', 'revoke', `${id}`)).toMatchObject({ code: 0 })
  expect((await run('keys', 'ls')).stdout).toMatch(/revoked/)
  expect(await run('keys', 'create', '--name', 'x', '--role', 'orchestrator')).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('orchestratorId'),
  })
})

test('sweep says what it did', async () => {
  await insertClaimed(sql, { claimExpiresAt: new Date(0) })
  expect(lines((await run('sweep', '--json')).stdout)).toMatchObject([{ released: 1, more: false }])
  expect((await run('sweep')).stdout).toMatch(/^0 released/)
})

describe('doctor', () => {
  test('finds nothing wrong where nothing is, and the key’s role', async () => {
    for (const role of ['admin', 'viewer', 'producer', 'orchestrator'] as const) {
      const key = await insertKey(sql, role, { orchestratorId: 'acme' })
      const result = await dispatch(['doctor', '--json'], { env: { ...env, DISPATCH_KEY: key } })
      expect(result.code).toBe(0)
      const checks = lines(result.stdout)
      expect(checks.map(({ check }) => check)).toStrictEqual([
        'url',
        'reachable',
        'database',
        'migrations',
        'version',
        'clock',
        'key',
      ])
      expect(checks.at(-1)?.found).toContain(`the role ${role}`)
    }
  })

  test('says what to do about a wrong key, a server that is away, and none at all', async () => {
    expect(await run('doctor', '--key', 'dq_wrong')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('wrong or revoked'),
    })
    expect(await run('doctor', '--url', 'http://127.0.0.1:1')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Check the URL'),
    })
    expect(await dispatch(['doctor'])).toMatchObject({ code: 1, stdout: expect.stringContaining('npm start') })
  })
})

test('a server of another version is told about in one line', async () => {
  const other = createServer((_request, response) => {
    response.setHeader('dispatch-version', '99.0.0').setHeader('content-type', 'application/json')
    response.end('{"items":[],"nextCursor":null}')
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void other.close())
  const result = await run('ls', '--url', `http://127.0.0.1:${portOf(other)}`)
  expect(result.code).toBe(0)
  expect(result.stderr).toMatch(/^dispatch is version \S+, the server 99\.0\.0: [^\n]+\n$/)
})

test('nothing is coloured where nobody looks', async () => {
  await insertWork(sql)
  expect((await run('ls')).stdout).not.toContain('\u001b[')
})

test('the app serves the client as one file, too, which needs nothing of Node’s own', async () => {
  const source = await (await fetch(`${app.url}/dispatch-client.mjs`)).text()
  expect(source).not.toMatch(/(from|import)\s*["']node:|require\(/)
  writeFileSync(path.join(home, 'dispatch-client.mjs'), source)
  const { queueId, orchestratorId } = await insertWork(sql, { payload: { issue: 'ENG-142' } })
  writeFileSync(
    path.join(home, 'worker.mjs'),
    `import { createWorker } from './dispatch-client.mjs'
     const worker = createWorker({
       url: '${app.url}', key: process.env.DISPATCH_KEY, orchestratorId: '${orchestratorId}', machineId: 'laptop',
       handler: async ({ payload }) => { worker.stop(); return payload.issue },
     })
     await worker.run()`,
  )
  const { status, stderr } = spawnSync(process.execPath, ['worker.mjs'], {
    cwd: home,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })
  expect({ status, stderr }).toStrictEqual({ status: 0, stderr: '' })
  expect(await onlyRow(sql, queueId)).toMatchObject({ outcome: 'completed', result: 'ENG-142' })
})
