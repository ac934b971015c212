import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { setUpServed } from '../app/served'
import { newOrchestrator } from '../http/instance'
import { insertWork, onlyRow } from '../support/factories'
import { dispatch, home, script, startWork } from './dispatch'

const { app, database } = await setUpServed()
const { sql } = database

async function setUpWork(payload: unknown = { issue: 'ENG-1' }, columns: object = {}) {
  const { orchestratorId, key } = await newOrchestrator(sql)
  const { queueId } = await insertWork(sql, { orchestratorId, payload, ...columns })
  const env = { DISPATCH_URL: app.url, DISPATCH_KEY: key }
  const once = (...command: string[]) =>
    dispatch(['work', '--json', '--orchestrator', orchestratorId, '--once', '--', ...command], { env })
  const row = () => onlyRow(sql, queueId)
  return { orchestratorId, queueId, env, once, row }
}

describe('a command that ends with exit code 0 completes the work', () => {
  test.each([
    ['with its last line, if that is JSON', 'echo working; echo \'{"pullRequest": 77}\'; echo', { pullRequest: 77 }],
    ['with no result, if its last line is none', 'echo done', null],
    ['with no result, if it wrote nothing', 'exit 0', null],
    [
      'with what it wrote to the result file, whatever its last line is',
      'echo \'{"a":\' > "$DISPATCH_RESULT_FILE"; echo "[1]}" >> "$DISPATCH_RESULT_FILE"; echo 5',
      { a: [1] },
    ],
    ['and progress lines are no result', 'echo 7; echo "::progress 90 nearly"', 7],
  ])('%s', async (_how, body, result) => {
    const { once, row } = await setUpWork()
    expect((await once(script(body))).code).toBe(0)
    expect(await row()).toMatchObject({ outcome: 'completed', result })
  })
})

describe('a command that does not', () => {
  test.each([
    [
      'fails with the end of its standard error',
      'echo oops >&2; exit 3',
      1,
      /^The command ended with exit code 3\.\noops$/,
      { claimed_at: null },
    ],
    ['fails as ended by a signal', 'kill -9 $$', 1, /^The command was ended by SIGKILL\.$/, { claimed_at: null }],
    ['fails, though it says 137', 'exit 137', 1, /exit code 137/, { claimed_at: null }],
    ['fails for good with exit code 65', 'exit 65', 1, /exit code 65/, { outcome: 'failed' }],
    [
      'fails where its result file is not JSON',
      'echo oops > "$DISPATCH_RESULT_FILE"',
      1,
      /not JSON/,
      { claimed_at: null },
    ],
    [
      'fails where its result is too large, in few words',
      'head -c 400000 /dev/zero | tr "\\0" x | sed "s/.*/\\"&\\"/"',
      1,
      /^the result was refused: .{1,300}$/s,
      { outcome: 'failed' },
    ],
  ])('%s', async (_how, body, code, error, columns) => {
    const { once, row } = await setUpWork()
    expect((await once(script(body))).code).toBe(code)
    const after = await row()
    expect(after).toMatchObject(columns)
    expect(after.last_error).toMatch(error)
  })

  test('is tried again after exactly the delay for exit code 75', async () => {
    const { orchestratorId, env, row, queueId } = await setUpWork()
    await dispatch(
      ['work', '--orchestrator', orchestratorId, '--once', '--retry-delay', '10m', '--', script('exit 75')],
      { env },
    )
    expect(await row()).toMatchObject({ claimed_at: null, attempts: 1 })
    const delay = await sql(
      `SELECT round(extract(epoch FROM available_at - (attempt_log -> 0 ->> 'endedAt')::timestamptz))::int AS s FROM dispatch_queue WHERE id = $1`,
      [queueId],
    )
    expect(delay).toStrictEqual([{ s: 600 }])
  })

  test.each([
    ['does not exist', () => '/no/such/command', /ENOENT/],
    ['may not be executed', () => script('exit 0', 0o644), /EACCES/],
  ])(
    'start because it %s fails the work with that reason, and ends the worker, which would fail all the rest',
    async (_how, command, reason) => {
      const { orchestratorId, env, queueId } = await setUpWork()
      const other = await insertWork(sql, { orchestratorId, priority: 1 })
      const result = await dispatch(['work', '--orchestrator', orchestratorId, '--', command()], { env })
      expect(result).toMatchObject({ code: 2, stderr: expect.stringMatching(reason) })
      expect((await onlyRow(sql, queueId)).last_error).toMatch(/could not be started/)
      expect(await onlyRow(sql, other.queueId)).toMatchObject({ attempts: 0 })
    },
  )
})

test('the command gets the very payload, by standard input and by file, and no shell sees it', async () => {
  const text = `$(touch ${home}/pwned) \`touch ${home}/pwned\` "';&|\n\r\t \\ é😀 ${'x'.repeat(200_000)}`
  const { once, row, queueId, orchestratorId } = await setUpWork({ text })
  const body = `cat > "${home}/stdin.json"; cp "$DISPATCH_PAYLOAD_FILE" "${home}/file.json"; stat -c %a "$DISPATCH_PAYLOAD_FILE" > "${home}/mode"
    echo "{\\"id\\": \\"$DISPATCH_QUEUE_ID\\", \\"orchestrator\\": \\"$DISPATCH_ORCHESTRATOR_ID\\", \\"attempt\\": \\"$DISPATCH_ATTEMPT\\", \\"machine\\": \\"$DISPATCH_MACHINE_ID\\", \\"key\\": \\"$DISPATCH_KEY\\", \\"args\\": \\"$*\\"}"`
  expect((await once(script(body), '$HOME', '*')).code).toBe(0)
  const hash = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
  const sent = hash(JSON.stringify({ text }))
  expect(hash(readFileSync(path.join(home, 'stdin.json')))).toBe(sent)
  expect(hash(readFileSync(path.join(home, 'file.json')))).toBe(sent)
  expect(readFileSync(path.join(home, 'mode'), 'utf8')).toBe('600\n')
  expect(existsSync(path.join(home, 'pwned'))).toBe(false)
  expect(await row()).toMatchObject({
    result: {
      id: `${queueId}`,
      orchestrator: orchestratorId,
      attempt: '1',
      machine: expect.stringMatching(/./),
      key: '',
      args: '$HOME *',
    },
  })
})

test('a progress line is the work’s progress while it runs', async () => {
  const { orchestratorId, env, row, queueId } = await setUpWork()
  const go = path.join(home, `go-${queueId}`)
  const body = `echo "::progress 40 running tests"; while [ ! -e "${go}" ]; do sleep 0.05; done`
  const worker = startWork(['--orchestrator', orchestratorId, '--', script(body)], { env })
  await expect.poll(row, { timeout: 20_000 }).toMatchObject({ progress: 40, progress_note: 'running tests' })
  writeFileSync(go, '')
  await worker.until(({ event, queueId: id }) => event === 'ended' && id === queueId)
  expect(await row()).toMatchObject({ outcome: 'completed' })
})

test('a command that writes fifty megabytes keeps its claim, through many leases', async () => {
  const { orchestratorId, env, row, queueId } = await setUpWork()
  const body =
    'for i in 1 2 3 4 5; do head -c 10000000 /dev/zero | tr "\\0" "\\n"; head -c 10000000 /dev/zero | tr "\\0" x; sleep 1; done; echo; echo 1'
  const worker = startWork(['--orchestrator', orchestratorId, '--lease', '1500ms', '--', script(body)], { env })
  const ended = await worker.until(({ event }) => event === 'ended')
  expect(ended).toMatchObject({ queueId, how: 'completed' })
  expect(await row()).toMatchObject({ outcome: 'completed', attempts: 1, result: 1 })
})

test('with --once and nothing to do it ends with an exit code of its own', async () => {
  const { env } = await setUpWork()
  const { orchestratorId, key } = await newOrchestrator(sql)
  const result = await dispatch(['work', '--orchestrator', orchestratorId, '--once', '--', 'true'], {
    env: { ...env, DISPATCH_KEY: key },
  })
  expect(result.code).toBe(5)
})

test.each([
  ['a wrong key', { DISPATCH_KEY: 'dq_wrong' }, 3],
  ['a key for another orchestrator', {}, 3],
])('with %s the worker ends at once, with a sentence and its exit code', async (_what, changes, code) => {
  const { env } = await setUpWork()
  const other = await newOrchestrator(sql)
  const result = await dispatch(['work', '--orchestrator', other.orchestratorId, '--', 'true'], {
    env: { ...env, ...changes },
  })
  expect(result).toMatchObject({ code, stderr: expect.stringMatching(/^error .*key/) })
})
