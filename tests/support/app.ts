import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ensureBuilt, nextProgram } from '@/lib/launch/build'
import { freePort } from '@/lib/launch/free-port'
import { ROOT } from '@/lib/launch/root'
import { spawnWatched, type WatchedProcess } from '@/lib/launch/watched-process'

/** The built app, as `next start` serves it. */
export interface RunningApp {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string
  readonly port: number
  /** Of the server's process. */
  readonly pid: number
  /** What it has written so far, on both streams. */
  output(): string
  /** Resolves with the exit code when the server has ended by itself or by a signal. */
  readonly exited: Promise<number>
  /** SIGTERM, and SIGKILL after five seconds; resolves when it is gone. May be called again. */
  stop(): Promise<void>
}

export interface AppOptions {
  readonly databaseUrl?: string
  /** Settings; none of the test runner's own or of a developer's shell reaches the app. */
  readonly env?: Readonly<Record<string, string>>
  /** A free one unless told. */
  readonly port?: number
  /** The loopback address unless told. */
  readonly host?: string
}

const READY_TIMEOUT_MS = 60_000

/**
 * Starts the built app on a free port, and builds it first when the build is missing or older than the sources. The app
 * cannot outlive this process, however that ends.
 */
export async function startApp(options: AppOptions = {}): Promise<RunningApp> {
  await ensureBuilt()
  const directory = mkdtempSync(path.join(tmpdir(), 'dispatch-app-'))
  const log = path.join(directory, 'output')
  const port = options.port ?? (await freePort())
  const server = runServer(options, port, log)
  const url = `http://127.0.0.1:${port}`
  const output = () => readFileSync(log, 'utf8')
  const stop = async () => {
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await untilReady(server, url)
    return { url, port, pid: (await server.pid) ?? 0, output, exited: server.exited, stop }
  } catch (error) {
    const text = output()
    await stop()
    throw new Error(`The app did not start. It wrote:\n${text}`, { cause: error })
  }
}

function runServer({ databaseUrl, env, host }: AppOptions, port: number, log: string): WatchedProcess {
  const file = openSync(log, 'a', 0o600)
  try {
    return spawnWatched(
      {
        command: process.execPath,
        args: [nextProgram(), 'start', '-H', host ?? '127.0.0.1', '-p', String(port)],
        stopBy: [
          { signal: 'SIGTERM', afterMs: 0 },
          { signal: 'SIGKILL', afterMs: 5_000 },
        ],
      },
      {
        output: file,
        cwd: ROOT,
        env: { ...appEnvironment(), ...(databaseUrl && { DATABASE_URL: databaseUrl }), ...env },
      },
    )
  } finally {
    closeSync(file)
  }
}

function appEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(DISPATCH_|DATABASE_|CRON_SECRET$|VERCEL|npm_|NODE_OPTIONS$|PORT$|HOST$|VITEST|TEST_)/.test(name),
  )
  return { ...Object.fromEntries(kept), NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' }
}

/** Waits until the server answers anything at all: a database that is down is no reason to wait. */
async function untilReady(server: WatchedProcess, url: string): Promise<void> {
  for (const end = Date.now() + READY_TIMEOUT_MS; ; await sleep(50)) {
    if (server.hasExited()) throw new Error(`exit code ${await server.exited}`)
    try {
      const response = await fetch(`${url}/api/health`, { signal: AbortSignal.timeout(10_000) })
      await response.body?.cancel()
      return
    } catch (error) {
      if (Date.now() > end) throw error
    }
  }
}
