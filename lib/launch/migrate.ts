import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { Client } from 'pg'

const MIGRATIONS = fileURLToPath(new URL('../../drizzle', import.meta.url))
/** Any number that no other program uses on the same database. */
export const MIGRATION_LOCK = 7_261_840_953
const CONNECT_TIMEOUT_MS = 15_000

/**
 * Brings a database's schema up to date. Any number of processes may do so at once: one migrates, the others wait
 * for it and find nothing left to do.
 *
 * @param url a direct connection: through a pooler the lock would not hold
 * @throws {Error} for a pooler's URL, and whatever the connection or a migration reports
 */
export async function migrateDatabase(url: string): Promise<void> {
  refusePooler(url)
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  // Without a listener a dropped connection ends the process; the query under way reports it all the same.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0')
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    await migrate(drizzle({ client }), { migrationsFolder: MIGRATIONS })
  } finally {
    await client.end()
  }
}

function refusePooler(url: string): void {
  const host = URL.canParse(url) ? new URL(url).hostname : ''
  if (!host.split('.').some((part) => part.endsWith('-pooler'))) return
  throw new Error(
    `Migrations need a direct connection, and ${host} is a pooler; set DATABASE_URL_UNPOOLED to the database's direct URL.`,
  )
}
