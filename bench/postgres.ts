import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { clusterDirectory } from '@/lib/launch/cluster-location'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@/lib/launch/embedded-postgres'
import { migrateDatabase } from '@/lib/launch/migrate'
import type { PostgresBinaries } from '@/lib/launch/postgres-binaries'
import { ROOT } from '@/lib/launch/root'

export interface BenchPostgres {
  urlFor(database: string): string
  readonly pid: number
  /** Makes an empty database. @returns its URL */
  createDatabase(name: string, schema: 'dispatch' | 'own'): Promise<string>
  /** Runs statements on a connection of their own. */
  sql(database: string, text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>
  stop(): Promise<void>
}

/** Postgres with its own defaults, durability included, but for the number of connections; its data goes when it stops. */
export async function startPostgres(installed?: PostgresBinaries): Promise<BenchPostgres> {
  const parent = path.join(ROOT, '.dispatch-bench')
  mkdirSync(parent, { recursive: true, mode: 0o755 })
  const directory = mkdtempSync(path.join(parent, 'run-'))
  chmodSync(directory, 0o755)
  const cluster = clusterDirectory(directory)
  const server: EmbeddedPostgres = await startEmbeddedPostgres({
    directory: cluster,
    password: randomBytes(12).toString('hex'),
    settings: { max_connections: '1200', shared_preload_libraries: 'pg_stat_statements' },
    ...(installed && { installed }),
  })

  async function sql(database: string, text: string, values: readonly unknown[] = []) {
    const client = new Client({ connectionString: server.urlFor(database) })
    client.on('error', () => {})
    await client.connect()
    try {
      const { rows } = await client.query(text, [...values])
      return rows ?? []
    } finally {
      await client.end()
    }
  }

  return {
    urlFor: server.urlFor,
    pid: server.pid,
    sql,
    createDatabase: async (name, schema) => {
      await sql('postgres', `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)
      await sql('postgres', `CREATE DATABASE "${name}"`)
      if (schema === 'dispatch') await migrateDatabase(server.urlFor(name))
      return server.urlFor(name)
    },
    stop: async () => {
      await server.stop()
      for (const each of [cluster, directory]) rmSync(each, { recursive: true, force: true })
    },
  }
}
