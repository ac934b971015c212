import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { ensureBuilt } from '@/lib/launch/build'
import { ROOT } from '@/lib/launch/root'
import { healthResponse } from '@/lib/protocol/service'
import { expectProblem } from '../http/answers'
import { ADMIN_KEY, appEnvironment } from '../http/instance'
import { startApp } from '../support/app'
import { sendTo } from './served'

async function startWith(env: Record<string, string>) {
  const app = await startApp({ env: { ...appEnvironment(), ...env } })
  onTestFinished(app.stop)
  return { app, send: sendTo(app.url) }
}

test('without DATABASE_URL the app runs and says in each answer that it cannot: 503, not a crash', async () => {
  const { app, send } = await startWith({ DISPATCH_LOG_LEVEL: 'error' })
  const health = await send('GET', '/api/health')
  expect(health.status).toBe(503)
  expect(healthResponse.parse(health.body)).toMatchObject({ ok: false, database: 'unreachable' })
  const answer = expectProblem(
    await send('GET', '/api/poll?orchestratorId=acme', { key: ADMIN_KEY }),
    503,
    'unavailable',
  )
  expect(answer.detail).not.toMatch(/postgres:|at .*\.ts/)
  expect(app.output()).toContain('DATABASE_URL is not set')
})

test.each([
  ['DISPATCH_CLAIM_TIMEOUT_MS', '30min'],
  ['DISPATCH_ADMIN_KEY', 'short'],
])('a %s that cannot be used stops the start with a sentence that names it', async (name, value) => {
  const failure = startWith({ DATABASE_URL: 'postgres://x@127.0.0.1:1/x', [name]: value }).then(
    () => 'started',
    (error: unknown) => String(error),
  )
  expect(await failure).toContain(name)
})

const manifest = z.object({ routes: z.record(z.string(), z.unknown()) })

describe('the build', () => {
  test('freezes no page and no route that reads the database', async () => {
    await ensureBuilt()
    const { routes } = manifest.parse(
      JSON.parse(readFileSync(path.join(ROOT, '.next', 'prerender-manifest.json'), 'utf8')),
    )
    expect(Object.keys(routes).sort()).toStrictEqual(
      ['/_global-error', '/_not-found', '/icon.svg'].filter((route) => route in routes),
    )
  })
})
