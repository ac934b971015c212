import { neon, neonConfig } from '@neondatabase/serverless'
import { attachDatabasePool } from '@vercel/functions'
import { drizzle as drizzleNeon } from 'drizzle-orm/neon-http'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core'
import { type ClientBase, Pool } from 'pg'
import { type Config, ConfigError, getConfig } from '@/lib/config'

/**
 * The database as the queue sees it. It has no `transaction`: every operation is one statement, which is
 * what lets all of them run over Neon's HTTP driver.
 */
export type Db = Omit<PgDatabase<PgQueryResultHKT>, 'transaction'> & {
  /** Whether statements may be prepared under a name: only where a connection keeps its session. */
  readonly namedStatements: boolean
  /** Whether its Postgres is known to have skip scans: to jump in an index from one value of a column to the next (since version 18). */
  hasSkipScan(): boolean
}

/** A handle and the way to let go of its connections. */
export interface DbConnection {
  readonly db: Db
  close(): Promise<void>
}

/** No statement of ours runs for longer. A client-side limit lies above it, so that the server stops first (no orphaned statement). */
const STATEMENT_TIMEOUT_MS = 5_000
const LOCK_TIMEOUT_MS = 4_000
const QUERY_TIMEOUT_MS = 8_000
const CONNECT_TIMEOUT_MS = 5_000

/** As `server_version_num` has it. */
const FIRST_WITH_SKIP_SCAN = 180_000

type DatabaseSettings = Pick<
  Config,
  'databaseUrl' | 'databaseDriver' | 'neonEndpoint' | 'namedStatements' | 'poolSize' | 'isVercel'
>

/**
 * Opens a database by the settings: Neon's HTTP driver for Neon's hosts, a `pg` pool for every other one.
 *
 * @throws {ConfigError} when no DATABASE_URL is set or it is not a Postgres URL
 */
export function connectDb(settings: DatabaseSettings): DbConnection {
  const url = databaseUrl(settings)
  const driver = settings.databaseDriver ?? (url.hostname.endsWith('.neon.tech') ? 'neon' : 'pg')
  return driver === 'neon' ? connectNeon(url, settings) : connectPg(url, settings)
}

function databaseUrl(settings: DatabaseSettings): URL {
  if (settings.databaseUrl === undefined) {
    throw new ConfigError('DATABASE_URL is not set; `npm start` without it runs an embedded Postgres')
  }
  const url = URL.canParse(settings.databaseUrl) ? new URL(settings.databaseUrl) : undefined
  if (url?.protocol !== 'postgres:' && url?.protocol !== 'postgresql:') {
    throw new ConfigError('DATABASE_URL must look like postgres://user:password@host:5432/database')
  }
  return url
}

function connectNeon(url: URL, settings: DatabaseSettings): DbConnection {
  if (settings.neonEndpoint !== undefined) neonConfig.fetchEndpoint = settings.neonEndpoint
  // Each query gets a signal of its own: the driver has no time limit, and Next caches what goes through fetch.
  neonConfig.fetchFunction = (endpoint: string, init: RequestInit) =>
    fetch(endpoint, { ...init, cache: 'no-store', signal: AbortSignal.timeout(QUERY_TIMEOUT_MS) })
  const db = drizzleNeon({ client: neon(url.href) })
  return { db: Object.assign(db, { namedStatements: false, hasSkipScan: () => false }), close: async () => {} }
}

function connectPg(url: URL, settings: DatabaseSettings): DbConnection {
  // A transaction-mode pooler keeps no session: neither settings made at connect nor prepared names survive there.
  const keepsSession = settings.namedStatements ? settings.namedStatements === 'on' : !url.hostname.includes('-pooler')
  let version = 0
  const learnVersion = async (client: ClientBase) => {
    if (version > 0) return
    const { rows } = await client.query('SHOW server_version_num')
    version = Number(rows[0]?.server_version_num)
  }
  const pool = new Pool({
    connectionString: url.href,
    max: settings.poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    onConnect: learnVersion,
    ...(keepsSession && {
      // By default Postgres takes a LIMIT's parameter for a tenth of the rows, finds a plan for all calls too dear, and plans each one.
      options: '-c plan_cache_mode=force_generic_plan',
      statement_timeout: STATEMENT_TIMEOUT_MS,
      lock_timeout: LOCK_TIMEOUT_MS,
      idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    }),
  })
  // Without both listeners a dropped connection ends the process: one for idle clients, one for those in use.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  if (settings.isVercel) attachDatabasePool(pool)
  const db = drizzlePg({ client: pool })
  return {
    db: Object.assign(db, {
      namedStatements: keepsSession,
      hasSkipScan: () => version >= FIRST_WITH_SKIP_SCAN,
    }),
    close: () => pool.end(),
  }
}

const shared: typeof globalThis & { dispatchQueueDb?: DbConnection } = globalThis

/** This process's database. It is kept outside the module, so that a dev server's reload does not open a pool per save. */
export function getDb(): Db {
  shared.dispatchQueueDb ??= connectDb(getConfig())
  return shared.dispatchQueueDb.db
}
