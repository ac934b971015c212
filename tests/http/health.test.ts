import { expect, test } from 'vitest'
import { healthResponse } from '@/lib/protocol/service'
import manifest from '../../package.json' with { type: 'json' }
import { expectAnswer } from './answers'
import { setUpInstance } from './instance'

const { sql, send } = await setUpInstance()

test('200 without a key, and tells nothing but whether the queue can work', async () => {
  expect(expectAnswer(await send('GET', '/api/health'), 200, healthResponse)).toStrictEqual({
    ok: true,
    database: 'ok',
    migrations: 'current',
    version: manifest.version,
  })
})

test('503 with pending migrations, when the newest has not run', async () => {
  await sql(`UPDATE drizzle.__drizzle_migrations SET created_at = created_at - 10000000000`)
  expect(expectAnswer(await send('GET', '/api/health'), 503, healthResponse)).toMatchObject({
    ok: false,
    database: 'ok',
    migrations: 'pending',
  })
  await sql(`ALTER SCHEMA drizzle RENAME TO drizzle_gone`)
  expect(expectAnswer(await send('GET', '/api/health'), 503, healthResponse)).toMatchObject({
    ok: false,
    database: 'ok',
    migrations: 'pending',
  })
})
