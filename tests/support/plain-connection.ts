import { Client, type ClientConfig, type CustomTypesConfig, types } from 'pg'
import { inject } from 'vitest'

/** Settings of a connection for arranging and asserting; see `TestDatabase.sql` for how it reads values. */
export const unrecorded = (connectionString: string): ClientConfig => ({
  connectionString,
  types: exactTypes,
  options: '-c pg_stat_statements.track=none',
})

/** Runs something on a connection of its own to the run's Postgres, outside all test databases. */
export async function administer<T>(use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(unrecorded(inject('postgresUrl')))
  await client.connect()
  return use(client).finally(() => client.end())
}

const exactTypes: CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (oid === types.builtins.INT8) return Number
    if (oid === types.builtins.TIMESTAMPTZ) return String
    return types.getTypeParser(oid, format)
  },
}
