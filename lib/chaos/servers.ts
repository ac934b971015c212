import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { type Instance, startInstance } from '@/lib/chaos/instance'
import { TcpProxy } from '@/lib/chaos/tcp-proxy'
import { ensureBuilt } from '@/lib/launch/build'
import { openDataDirectory } from '@/lib/launch/data-directory'
import { migrateDatabase } from '@/lib/launch/migrate'
import { superviseEmbeddedPostgres } from '@/lib/launch/postgres-supervisor'
import { readPostmasterFile } from '@/lib/launch/postmaster-file'
import { ROOT } from '@/lib/launch/root'

const INSTANCES = 3

export interface Servers {
  /** The round-robin before the instances. */
  readonly url: string
  readonly adminKey: string
  readonly instances: readonly Instance[]
  readonly database: Database
  stop(): Promise<void>
}

interface Database {
  /** Past the proxy. */
  readonly url: string
  /** What the instances connect to. */
  readonly proxy: TcpProxy
  /** Of the postmaster that runs at this moment. */
  postmasterPid(): number | undefined
  stop(): Promise<void>
}

/**
 * Starts the embedded Postgres and three instances of the app on a database of their own, behind a round-robin. All that they
 * leave on the disk goes when they are stopped.
 *
 * @param signal aborts the start
 */
export async function startServers(signal: AbortSignal): Promise<Servers> {
  // Standard output is for the report.
  await ensureBuilt(signal, process.stderr.fd)
  const parent = path.join(ROOT, '.dispatch-prove')
  mkdirSync(parent, { recursive: true, mode: 0o755 })
  const directory = mkdtempSync(path.join(parent, 'run-'))
  const database = await startDatabase(path.join(directory, 'data'))
  const adminKey = randomBytes(24).toString('base64url')
  const settings = instanceSettings(database, adminKey)
  const instances = await Promise.all(
    Array.from({ length: INSTANCES }, (_, n) =>
      startInstance(path.join(directory, `instance-${n}.log`), settings, signal),
    ),
  )
  const balancer = new TcpProxy(instances.map(({ port }) => port))
  await balancer.listen()
  return {
    url: `http://127.0.0.1:${balancer.port}`,
    adminKey,
    instances,
    database,
    stop: async () => {
      await balancer.close()
      await Promise.all(instances.map((instance) => instance.stop()))
      await database.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function startDatabase(directory: string): Promise<Database> {
  const data = await openDataDirectory(directory)
  const postgres = await superviseEmbeddedPostgres({
    directory: data.cluster,
    log: data.postgresLog,
    password: data.postgresPassword,
    quiet: true,
  })
  await migrateDatabase(postgres.url)
  const proxy = new TcpProxy([postgres.port])
  await proxy.listen()
  return {
    url: postgres.url,
    proxy,
    postmasterPid: () => readPostmasterFile(data.cluster)?.pid,
    stop: async () => {
      await proxy.close()
      await postgres.stop()
      data.release()
      rmSync(data.cluster, { recursive: true, force: true })
    },
  }
}

function instanceSettings(database: Database, adminKey: string): Record<string, string> {
  const url = new URL(database.url)
  url.port = `${database.proxy.port}`
  return {
    DATABASE_URL: url.href,
    DISPATCH_ADMIN_KEY: adminKey,
    DISPATCH_SWEEP_INTERVAL_MS: '1000',
    DISPATCH_LOG_LEVEL: 'error',
  }
}
