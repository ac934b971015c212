import type { Config } from '@/lib/config'
import type { DataDirectory } from '@/lib/launch/data-directory'
import { migrateDatabase } from '@/lib/launch/migrate'
import { type SupervisedPostgres, superviseEmbeddedPostgres } from '@/lib/launch/postgres-supervisor'
import { faultText } from '@/lib/launch/say'

/** Postgres keeps some connections back, and a person's psql needs one beside the app's. */
const SPARE_CONNECTIONS = 20
const POSTGRES_DEFAULT_CONNECTIONS = 100

/** Starts the embedded Postgres of a data directory and keeps it running. */
export function startDatabase(data: DataDirectory, config: Config): Promise<SupervisedPostgres> {
  return superviseEmbeddedPostgres({
    directory: data.cluster,
    log: data.postgresLog,
    password: data.postgresPassword,
    ...(config.postgresPort !== undefined && { port: config.postgresPort }),
    settings: { max_connections: String(Math.max(POSTGRES_DEFAULT_CONNECTIONS, config.poolSize + SPARE_CONNECTIONS)) },
  })
}

/** Migrates a database. @throws {Error} with a sentence that says what could not be done, and why */
export async function migrate(url: string): Promise<void> {
  try {
    await migrateDatabase(url)
  } catch (cause) {
    throw new Error(`The database cannot be migrated: ${faultText(cause)}`)
  }
}
