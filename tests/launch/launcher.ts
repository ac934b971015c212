import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import { onTestFinished } from 'vitest'
import { freePort } from '@/lib/launch/free-port'
import { ROOT } from '@/lib/launch/root'
import { waitUntil } from '@/lib/process/processes'

/** What the stub app tells about itself. */
export interface AboutApp {
  pid: number
  databaseUrl: string
  adminKey: string
}

export interface Launcher {
  readonly child: ChildProcess
  readonly pid: number
  readonly port: number
  /** Resolves with the exit code, null after a signal. */
  readonly exited: Promise<number | null>
  /** All that it has written so far, on both streams. */
  output(): string
  /** Resolves when it has written this. */
  says(text: string): Promise<void>
  /** Resolves when it is started, with what its app tells. */
  started(): Promise<AboutApp>
}

export const NOBODY = 65_534
export const isRoot = process.getuid?.() === 0

/** A directory which Postgres's user can pass through. */
export function makeDirectory(owner?: number): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'dispatch-launch-'))
  chmodSync(directory, 0o755)
  if (owner !== undefined) chownSync(directory, owner, owner)
  return directory
}

/** Ends every process that has to do with a directory, and removes it. */
export async function removeDirectory(directory: string): Promise<void> {
  for (const pid of processesIn(directory)) killIfThere(pid)
  await waitUntil(() => processesIn(directory).length === 0, 30_000)
  rmSync(directory, { recursive: true, force: true })
}

/** A directory for one test, removed at its end. */
export function testDirectory(owner?: number): string {
  const directory = makeDirectory(owner)
  onTestFinished(() => removeDirectory(directory))
  return directory
}

/** Starts the launcher with the stub app on a data directory within a test's directory. */
export async function startLauncher(
  directory: string,
  options: { env?: Record<string, string>; uid?: number; command?: string[]; cwd?: string } = {},
): Promise<Launcher> {
  const port = Number(options.env?.PORT ?? (await freePort()))
  const [program = '', ...args] = options.command ?? [process.execPath, '--import', 'tsx', 'tests/launch/stub-main.ts']
  const child = spawn(program, args, {
    cwd: options.cwd ?? ROOT,
    env: launcherEnvironment({
      DISPATCH_DATA_DIR: path.join(directory, 'data'),
      XDG_CONFIG_HOME: path.join(directory, 'config'),
      PORT: String(port),
      ...options.env,
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output += data
    })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const says = async (text: string) => {
    const isSaid = await waitUntil(() => output.includes(text) || child.exitCode !== null, 60_000)
    if (!isSaid || !output.includes(text)) throw new Error(`The launcher did not say "${text}" but: ${output}`)
  }
  const started = async (): Promise<AboutApp> => {
    await says('dispatch-queue runs at')
    const response = await fetch(`http://127.0.0.1:${port}/`)
    return response.json()
  }
  return { child, pid: child.pid ?? 0, port, exited, output: () => output, says, started }
}

/** The test runner's environment without the settings that another test run or a developer has made. */
function launcherEnvironment(changes: Record<string, string>): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(DISPATCH_|DATABASE_|npm_|PORT$|HOST$|VITEST)/.test(name),
  )
  return { ...Object.fromEntries(kept), NODE_ENV: 'test', ...changes }
}

/** The processes that have to do with a directory: by their arguments, environment or working directory. This one is none of them. */
export function processesIn(directory: string): number[] {
  if (!existsSync('/proc/self')) throw new Error('These tests find processes through /proc.')
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  return pids
    .filter((pid) => {
      const about = [
        readSafely(`/proc/${pid}/cmdline`),
        readSafely(`/proc/${pid}/environ`),
        linkSafely(`/proc/${pid}/cwd`),
      ]
      return about.some((text) => text.includes(directory))
    })
    .map(Number)
}

function readSafely(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function linkSafely(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}

export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone.
  }
}

/** Runs one statement on a database, waiting up to 60 s for it to take connections. */
export async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  for (const end = Date.now() + 60_000; ; ) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      return (await client.query(sql)).rows
    } catch (error) {
      if (Date.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    } finally {
      await client.end().catch(() => {})
    }
  }
}

/** A promise's value, or 'too late' once five seconds are over: the longest that a stop may take. */
export function withinFiveSeconds<T>(promise: Promise<T>): Promise<T | 'too late'> {
  const late = new Promise<'too late'>((resolve) => setTimeout(() => resolve('too late'), 5_000))
  return Promise.race([promise, late])
}
