import { randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import path from 'node:path'
import { TcpProxy } from '@/lib/chaos/tcp-proxy'
import { environmentWith } from '@/lib/config'
import { untilAnswering } from '@/lib/launch/app-process'
import { ensureBuilt } from '@/lib/launch/build'
import { openDataDirectory } from '@/lib/launch/data-directory'
import { freePort } from '@/lib/launch/free-port'
import { migrateDatabase } from '@/lib/launch/migrate'
import { nextApp } from '@/lib/launch/next-app'
import { superviseEmbeddedPostgres } from '@/lib/launch/postgres-supervisor'
import { readPostmasterFile } from '@/lib/launch/postmaster-file'
import { ROOT } from '@/lib/launch/root'
import { spawnWatched, type WatchedProcess } from '@/lib/launch/watched-process'

const INSTANCES = 3
const POOL_SIZE = 10

/** One running instance of the app, which is started again when it is killed. */
interface Instance {
  readonly port: number
  process: WatchedProcess
  start(): Promise<void>
}

export interface Servers {
  /** The round-robin before the instances. */
  readonly url: string
  readonly adminKey: string
  readonly instances: readonly Instance[]
  /** Before the database: what the instances connect to. */
  readonly databaseProxy: TcpProxy
  /** The database itself, past the proxy. */
  readonly databaseUrl: string
  /** Of the postmaster that runs at this moment. */
  postmasterPid(): number | undefined
  /** Where the instances' and Postgres's own output is. */
  readonly directory: string
  stop(): Promise<void>
}

/**
 * Starts the embedded Postgres and three instances of the app on a database of their own, behind a round-robin.
 *
 * @param signal aborts the start
 */
export async function startServers(signal: AbortSignal): Promise<Servers> {
  const app = nextApp('start')
  // Standard output is for the report.
  await ensureBuilt(signal, process.stderr.fd)
  const parent = path.join(ROOT, '.dispatch-prove')
  mkdirSync(parent, { recursive: true, mode: 0o755 })
  const directory = mkdtempSync(path.join(parent, 'run-'))
  const data = await openDataDirectory(path.join(directory, 'data'))
  const postgres = await superviseEmbeddedPostgres({
    directory: data.cluster,
    log: data.postgresLog,
    password: data.postgresPassword,
    quiet: true,
  })
  await migrateDatabase(postgres.url)
  const databaseProxy = new TcpProxy([postgres.port])
  await databaseProxy.listen()
  const adminKey = randomBytes(24).toString('base64url')
  const through = new URL(postgres.url)
  through.port = `${databaseProxy.port}`
  const environment = {
    ...app.environment,
    DATABASE_URL: through.href,
    DISPATCH_ADMIN_KEY: adminKey,
    DISPATCH_POOL_SIZE: `${POOL_SIZE}`,
    DISPATCH_SWEEP_INTERVAL_MS: '1000',
    DISPATCH_LOG_LEVEL: 'error',
  }
  const instances = await Promise.all(
    Array.from({ length: INSTANCES }, async (_, n) =>
      startInstance(path.join(directory, `instance-${n}.log`), environment),
    ),
  )
  const balancer = new TcpProxy(instances.map(({ port }) => port))
  await balancer.listen()
  return {
    url: `http://127.0.0.1:${balancer.port}`,
    adminKey,
    instances,
    databaseProxy,
    databaseUrl: postgres.url,
    postmasterPid: () => readPostmasterFile(data.cluster)?.pid,
    directory,
    stop: async () => {
      await balancer.close()
      await Promise.all(instances.map((instance) => instance.process.stop()))
      await databaseProxy.close()
      await postgres.stop()
      data.release()
      for (const each of [data.cluster, directory]) rmSync(each, { recursive: true, force: true })
    },
  }

  async function startInstance(log: string, settings: Record<string, string>): Promise<Instance> {
    const port = await freePort()
    const run = () => {
      const output = openSync(log, 'a', 0o600)
      try {
        return spawnWatched(
          {
            command: process.execPath,
            args: app.args('127.0.0.1', port),
            stopBy: [
              { signal: 'SIGTERM', afterMs: 0 },
              { signal: 'SIGKILL', afterMs: 2_000 },
            ],
          },
          { output, cwd: ROOT, env: environmentWith(settings) },
        )
      } finally {
        closeSync(output)
      }
    }
    const instance: Instance = {
      port,
      process: run(),
      start: async () => {
        instance.process = run()
        await untilAnswering(`http://127.0.0.1:${port}`, signal)
      },
    }
    await untilAnswering(`http://127.0.0.1:${port}`, signal)
    return instance
  }
}
