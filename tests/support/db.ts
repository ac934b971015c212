import { randomBytes } from 'node:crypto'
import { Client, Pool, type QueryResultRow } from 'pg'
import { afterAll, inject } from 'vitest'
import { readConfig } from '@/lib/config'
import { connectDb, type Db, type DbConnection } from '@/lib/db/client'
import { administer, unrecorded } from './plain-connection'
import { findUnguardedWrites, recordedStatements } from './statements'

/** The driver that this project of the run is for. */
export const testDriver = process.env.TEST_DB_DRIVER === 'neon' ? 'neon' : 'pg'

/** Runs a statement on a connection that the code under test does not use; see {@link TestDatabase.sql}. */
export type Sql = <Row extends QueryResultRow = Record<string, unknown>>(
  text: string,
  params?: readonly unknown[],
) => Promise<Row[]>

export interface TestDatabase {
  /** What the code under test gets: a handle by the driver of this project. */
  readonly db: Db
  readonly url: string
  /** The database's name, and its oid in this Postgres. */
  readonly name: string
  readonly oid: number
  /** The environment under which `readConfig` and `connectDb` give this database by the driver of this project. */
  readonly environment: Readonly<Record<string, string>>
  /**
   * Arranges and asserts, by plain `pg`. bigints come as numbers, instants as Postgres's text with all six digits, jsonb parsed.
   * These statements are not among the recorded ones.
   */
  readonly sql: Sql
  /** A connection of its own, as {@link sql} uses; closed with the database. */
  connect(): Promise<Client>
  /** Another handle, as another instance of the app would have; closed with the database. */
  open(environment?: Readonly<Record<string, string>>): DbConnection
  /** Opens connections up to this number, so that as many rivals can start at once; `environment` allows 250. */
  warm(connections: number): Promise<void>
  close(): Promise<void>
}

export interface TestDatabaseOptions {
  /** Settings of the database itself, as `default_transaction_isolation`; they hold for every connection. */
  settings?: Readonly<Record<string, string>>
  /** Changes to {@link TestDatabase.environment}. */
  environment?: Readonly<Record<string, string>>
}

/** A database for this test file, migrated and empty. It is dropped when the file's tests are over. */
export async function setUpDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const database = await createTestDatabase(options)
  afterAll(database.close)
  return database
}

/**
 * A database cloned from the run's template; whoever makes it has to close it. `close` throws when the code under test has
 * sent an UPDATE or DELETE without a WHERE.
 */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { name, oid } = await cloneTemplate({ timezone: 'Asia/Kolkata', ...options.settings })
  const url = databaseUrl(name)
  const environment = {
    DATABASE_URL: url,
    DISPATCH_DB_DRIVER: testDriver,
    DISPATCH_NEON_ENDPOINT: inject('neonEndpoint'),
    DISPATCH_POOL_SIZE: '250',
    ...options.environment,
  }
  const pool = new Pool({ ...unrecorded(url), max: 4 })
  const clients: Client[] = []
  const handles: DbConnection[] = []

  function open(changes: Readonly<Record<string, string>> = {}): DbConnection {
    const handle = connectDb(readConfig({ ...environment, ...changes }))
    handles.push(handle)
    return handle
  }

  async function close(): Promise<void> {
    await Promise.allSettled([
      ...handles.map((handle) => handle.close()),
      ...clients.map((client) => client.end()),
      pool.end(),
    ])
    const unguarded = findUnguardedWrites(await recordedStatements(oid))
    await administer(async (client) => void (await client.query(`DROP DATABASE ${name} WITH (FORCE)`)))
    if (unguarded.length > 0) throw new Error(`written without a WHERE:\n${unguarded.join('\n')}`)
  }

  const { db } = open()
  return {
    db,
    url,
    name,
    oid,
    environment,
    sql: async (text, params = []) => (await pool.query(text, [...params])).rows,
    connect: async () => {
      const client = new Client(unrecorded(url))
      client.on('error', () => {})
      clients.push(client)
      await client.connect()
      return client
    },
    open,
    warm: (connections) => warm(db, connections),
    close,
  }
}

async function cloneTemplate(settings: Readonly<Record<string, string>>): Promise<{ name: string; oid: number }> {
  const name = `test_${randomBytes(8).toString('hex')}`
  return administer(async (client) => {
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${inject('templateDatabase')} STRATEGY file_copy`)
    for (const [setting, value] of Object.entries(settings)) {
      await client.query(`ALTER DATABASE ${name} SET ${setting} = ${client.escapeLiteral(value)}`)
    }
    const found = await client.query('SELECT oid FROM pg_database WHERE datname = $1', [name])
    return { name, oid: Number(found.rows[0].oid) }
  })
}

function databaseUrl(name: string): string {
  const url = new URL(inject('postgresUrl'))
  url.pathname = name
  return url.href
}

// Queries sent at once each open a connection when none is idle; few more at a time, so that none waits too long for its own.
async function warm(db: Db, connections: number): Promise<void> {
  for (let open = 0; open < connections; ) {
    open = Math.min(connections, open + 50)
    await Promise.all(Array.from({ length: open }, () => db.execute('SELECT 1')))
  }
}
