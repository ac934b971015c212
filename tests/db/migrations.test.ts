import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { setUpDatabase, testDriver } from '../support/db'

const root = join(import.meta.dirname, '../..')
const migrations = join(root, 'drizzle')
const drizzleKit = (...args: string[]) =>
  promisify(execFile)(process.execPath, [join(root, 'node_modules/drizzle-kit/bin.cjs'), ...args], { cwd: root })

async function journal() {
  const text = await readFile(join(migrations, 'meta/_journal.json'), 'utf8')
  return z.object({ entries: z.array(z.object({ tag: z.string() })) }).parse(JSON.parse(text)).entries
}

describe.runIf(testDriver === 'pg')('the migrations', async () => {
  const { sql } = await setUpDatabase()

  test('are consistent with each other', async () => {
    expect((await drizzleKit('check')).stdout).toContain('fine')
  })

  test('give the schema that schema.ts describes: there is nothing left to generate', async () => {
    const copy = await mkdtemp(join(tmpdir(), 'dispatch-queue-migrations-'))
    onTestFinished(() => rm(copy, { recursive: true, force: true }))
    await cp(migrations, copy, { recursive: true })
    const before = await readdir(copy)
    // drizzle-kit takes only a relative path, and ends with 0 even when it fails.
    const { stdout } = await drizzleKit(
      'generate',
      '--dialect=postgresql',
      '--schema=./lib/db/schema.ts',
      `--out=${relative(root, copy)}`,
    )
    expect(stdout).toContain('No schema changes')
    expect(await readdir(copy)).toStrictEqual(before)
  })

  test('are each a file of the journal, and each applied once', async () => {
    const entries = await journal()
    const files = (await readdir(migrations)).filter((name) => name.endsWith('.sql'))
    expect(files).toStrictEqual(entries.map((entry) => `${entry.tag}.sql`))
    const applied = await sql(
      'SELECT count(*) AS count, count(DISTINCT hash) AS hashes FROM drizzle.__drizzle_migrations',
    )
    expect(applied).toStrictEqual([{ count: entries.length, hashes: entries.length }])
  })
})
