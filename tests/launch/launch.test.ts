import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { isSignInCode } from '@/lib/http/sign-in-code'
import {
  type AboutApp,
  ask,
  type Launcher,
  makeDirectory,
  processesIn,
  removeDirectory,
  startLauncher,
  testDirectory,
  withinFiveSeconds,
} from './launcher'

describe('a start without DATABASE_URL', () => {
  let directory: string
  let launcher: Launcher
  let app: AboutApp

  beforeAll(async () => {
    directory = makeDirectory()
    launcher = await startLauncher(directory)
    app = await launcher.started()
  })
  afterAll(() => removeDirectory(directory))

  it('gives the app a migrated Postgres that listens on loopback alone, wants a password, lives in UTC and is durable', async () => {
    expect(new URL(app.databaseUrl).hostname).toBe('127.0.0.1')
    expect(await ask(app.databaseUrl, 'select count(*)::int as n from dispatch_queue')).toEqual([{ n: 0 }])
    const settings = `select current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
      current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, current_setting('full_page_writes') as pages,
      current_setting('timezone') as zone, (select string_agg(distinct auth_method, ',') from pg_hba_file_rules) as methods`
    expect(await ask(app.databaseUrl, settings)).toEqual([
      {
        addresses: '127.0.0.1',
        sockets: '',
        fsync: 'on',
        commit: 'on',
        pages: 'on',
        zone: 'UTC',
        methods: 'scram-sha-256',
      },
    ])
  })

  it('gives the app an admin key of 32 random bytes, and keeps it and the password to the owner of the data directory', () => {
    for (const secret of ['admin-key', 'postgres-password']) {
      expect(statSync(path.join(directory, 'data', secret)).mode & 0o777).toBe(0o600)
    }
    expect(readFileSync(path.join(directory, 'data', 'admin-key'), 'utf8').trim()).toBe(app.adminKey)
    expect(Buffer.from(app.adminKey, 'base64url')).toHaveLength(32)
  })

  it('says where the app, its data and its admin key are and how to sign in, and shows no secret', async () => {
    await launcher.says('Ctrl-C stops it.')
    expect(launcher.output()).toContain(`http://127.0.0.1:${launcher.port}`)
    expect(launcher.output()).toContain(path.join(directory, 'data', 'admin-key'))
    const code = /\/sign-in\/link\?code=(\S+)/.exec(launcher.output())?.[1] ?? ''
    expect(await isSignInCode(decodeURIComponent(code), app.adminKey)).toBe(true)
    expect(launcher.output()).not.toContain(app.adminKey)
    expect(launcher.output()).not.toContain(new URL(app.databaseUrl).password)
  })

  it('keeps a second start off its data directory: that one names the holder, exits 1 and changes nothing', async () => {
    const second = await startLauncher(directory)
    expect(await second.exited).toBe(1)
    expect(second.output()).toBe(
      `${directory}/data is in use by another start: process ${launcher.pid}. Stop that one first.\n`,
    )
    expect(await launcher.started()).toEqual(app)
  })
})

describe('a stop', () => {
  it('by SIGTERM or SIGINT ends app and Postgres within 5 s, exits 0, leaves no process, and keeps data, password and key', async () => {
    const directory = testDirectory()
    const first = await startLauncher(directory)
    const before = await first.started()
    await ask(before.databaseUrl, `insert into dispatch_queue (orchestrator_id, payload) values ('o', '1')`)
    first.child.kill('SIGTERM')
    expect(await withinFiveSeconds(first.exited)).toBe(0)
    expect(processesIn(directory)).toEqual([])

    const DISPATCH_POSTGRES_PORT = new URL(before.databaseUrl).port
    const second = await startLauncher(directory, { env: { DISPATCH_POSTGRES_PORT } })
    expect(await second.started()).toEqual({ ...before, pid: expect.any(Number) })
    expect(await ask(before.databaseUrl, 'select payload from dispatch_queue')).toEqual([{ payload: 1 }])
    second.child.kill('SIGINT')
    expect(await withinFiveSeconds(second.exited)).toBe(0)
    expect(processesIn(directory)).toEqual([])
  })

  it('in the middle of the start leaves no process either', async () => {
    const directory = testDirectory()
    const launcher = await startLauncher(directory)
    await launcher.says('Postgres runs on')
    launcher.child.kill('SIGTERM')
    expect(await withinFiveSeconds(launcher.exited)).toBe(0)
    expect(processesIn(directory)).toEqual([])
  })

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'by %s of npm, which may pass nothing on, leaves no process',
    async (signal) => {
      const directory = testDirectory()
      // The "&&" keeps the shell between npm and the launcher.
      const script = `true && "${process.execPath}" --import tsx tests/launch/stub-main.ts`
      const launcher = await startLauncher(directory, { command: ['npm', 'exec', '--offline', '-c', script] })
      await launcher.started()
      launcher.child.kill(signal)
      await withinFiveSeconds(launcher.exited)
      expect(processesIn(directory)).toEqual([])
    },
  )
})

describe('a start that cannot be', () => {
  it('says in one sentence that the port is taken, exits 1 and leaves no process', async () => {
    const directory = testDirectory()
    const port = await takePort()
    const launcher = await startLauncher(directory, { env: { PORT: String(port) } })
    expect(await launcher.exited).toBe(1)
    expect(launcher.output()).toBe(
      `Port ${port} is taken by another program; stop that one, or set PORT to another port.\n`,
    )
    expect(processesIn(directory)).toEqual([])
  })

  it.each([
    [
      { DISPATCH_POOL_SIZE: 'many' },
      'DISPATCH_POOL_SIZE must be a whole number from 1 to 500, written in digits; it is "many"\n',
    ],
    [{ PORT: '70000' }, 'PORT must be a whole number from 1 to 65535, written in digits; it is "70000"\n'],
  ])('stops at the setting %o with its sentence alone, before anything starts', async (env, sentence) => {
    const directory = testDirectory()
    const command = [process.execPath, '--import', 'tsx', 'lib/launch/main.ts', 'start']
    const launcher = await startLauncher(directory, { env, command })
    expect(await launcher.exited).toBe(1)
    expect(launcher.output()).toBe(sentence)
    expect(statSync(path.join(directory, 'data'), { throwIfNoEntry: false })).toBeUndefined()
  })

  it('says which database it cannot reach, without its password', async () => {
    const env = { DATABASE_URL: 'postgres://someone:secret@127.0.0.1:1/work', HOST: '127.0.0.1' }
    const launcher = await startLauncher(testDirectory(), { env })
    expect(await launcher.exited).toBe(1)
    expect(launcher.output()).toBe('The database cannot be migrated: connect ECONNREFUSED 127.0.0.1:1\n')
  })
})

/** A port that somebody listens on until the test ends. */
function takePort(): Promise<number> {
  const server = createServer()
  onTestFinished(() => {
    server.close()
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
}
