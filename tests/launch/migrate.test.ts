import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { expect, inject, it, onTestFinished } from 'vitest'
import { MIGRATION_LOCK, migrateDatabase } from '@/lib/launch/migrate'
import { ROOT } from '@/lib/launch/root'
import { ask, startLauncher, testDirectory } from './launcher'

const MIGRATE = [process.execPath, '--import', 'tsx', 'lib/launch/migrate-command.ts']

async function emptyDatabase(): Promise<string> {
  const server = inject('postgresUrl')
  const name = `migrate_${randomUUID().replaceAll('-', '')}`
  await ask(server, `create database ${name}`)
  onTestFinished(async () => {
    await ask(server, `drop database ${name} with (force)`)
  })
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

it('of three processes that migrate an empty database at once all succeed, and each migration is applied once', async () => {
  const DATABASE_URL = await emptyDatabase()
  const directory = testDirectory()
  const runs = await Promise.all(
    [1, 2, 3].map(() => startLauncher(directory, { env: { DATABASE_URL }, command: MIGRATE })),
  )
  const codes = await Promise.all(runs.map((run) => run.exited))
  expect(runs.map((run, index) => [codes[index], run.output()])).toEqual(
    runs.map(() => [0, 'The database is up to date.\n']),
  )
  const journal: { entries: unknown[] } = JSON.parse(
    readFileSync(path.join(ROOT, 'drizzle/meta/_journal.json'), 'utf8'),
  )
  const applied = await ask(
    DATABASE_URL,
    'select count(*)::int as all, count(distinct hash)::int as different from drizzle.__drizzle_migrations',
  )
  expect(applied).toEqual([{ all: journal.entries.length, different: journal.entries.length }])
})

it('a start with DATABASE_URL migrates that database, gives it to the app, and keeps no data of its own', async () => {
  const DATABASE_URL = await emptyDatabase()
  const directory = testDirectory()
  const launcher = await startLauncher(directory, { env: { DATABASE_URL, HOST: '127.0.0.1' } })
  expect((await launcher.started()).databaseUrl).toBe(DATABASE_URL)
  expect(await ask(DATABASE_URL, 'select count(*)::int as n from dispatch_queue')).toEqual([{ n: 0 }])
  launcher.child.kill('SIGTERM')
  expect(await launcher.exited).toBe(0)
  expect(readdirSync(directory)).toEqual([])
})

it('a migration keeps no lock and no connection', async () => {
  const url = await emptyDatabase()
  await migrateDatabase(url)
  await migrateDatabase(url)
  const others = `select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  expect(await ask(url, others)).toEqual([{ n: 0 }])
})

it('a role that limits its statements does not cut short the wait for another migration', async () => {
  const url = await emptyDatabase()
  const other = new Client({ connectionString: url })
  await other.connect()
  onTestFinished(() => other.end())
  await other.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
  await ask(url, `alter database ${new URL(url).pathname.slice(1)} set statement_timeout = '500ms'`)
  const migration = migrateDatabase(url)
  await other.query('select pg_sleep(1)')
  await other.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK])
  await migration
})

it("a pooler's URL is refused with a sentence that names DATABASE_URL_UNPOOLED, before anything is connected", async () => {
  const refusal = migrateDatabase('postgres://u:secret@ep-a-1-pooler.eu.aws.neon.tech/d')
  await expect(refusal).rejects.toThrow('set DATABASE_URL_UNPOOLED')
  await expect(refusal).rejects.not.toThrow('secret')
})

it('without a database the command says so and exits 1', async () => {
  const run = await startLauncher(testDirectory(), { command: MIGRATE })
  expect(await run.exited).toBe(1)
  expect(run.output()).toBe('DATABASE_URL is not set: there is no database to migrate.\n')
})
