import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '@/lib/launch/embedded-postgres'
import { migrateDatabase } from '@/lib/launch/migrate'
import { startNeonEndpoint } from './neon-endpoint'

declare module 'vitest' {
  interface ProvidedContext {
    /** The superuser's URL of the run's Postgres; its database is `postgres`. */
    postgresUrl: string
    /** A migrated database that nobody is connected to. */
    templateDatabase: string
    neonEndpoint: string
  }
}

const TEMPLATE = 'dispatch_template'
const DIRECTORY_PREFIX = 'dispatch-queue-test-'

/** Starts what all test files of a run share: one Postgres with a migrated template database, and Neon's endpoint before it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await makeRunDirectory()
  const postgres = await startEmbeddedPostgres({
    directory: join(directory, 'postgres'),
    password: randomBytes(12).toString('hex'),
    fast: true,
    settings: {
      max_connections: '600',
      shared_preload_libraries: 'pg_stat_statements',
      'pg_stat_statements.max': '20000',
    },
  })
  const endpoint = await startNeonEndpoint({ poolSize: 250 })
  await withClient(postgres.url, async (client) => {
    await client.query('CREATE EXTENSION pg_stat_statements')
    await client.query(`CREATE DATABASE ${TEMPLATE}`)
  })
  await migrateDatabase(postgres.urlFor(TEMPLATE))

  project.provide('postgresUrl', postgres.url)
  project.provide('templateDatabase', TEMPLATE)
  project.provide('neonEndpoint', endpoint.url)
  return async () => {
    await endpoint.stop()
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

async function withClient(url: string, use: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await use(client).finally(() => client.end())
}

/** A directory of this run's own, named after its process; those of runs that were killed are removed. */
async function makeRunDirectory(): Promise<string> {
  for (const name of await readdir(tmpdir())) {
    const owner = new RegExp(`^${DIRECTORY_PREFIX}(\\d+)-`).exec(name)?.[1]
    if (owner === undefined || isRunning(Number(owner))) continue
    await rm(join(tmpdir(), name), { recursive: true, force: true })
  }
  const directory = await mkdtemp(join(tmpdir(), `${DIRECTORY_PREFIX}${process.pid}-`))
  // Run by root, Postgres runs as another user, who has to pass through.
  await chmod(directory, 0o755)
  return directory
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
