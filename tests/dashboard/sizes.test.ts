import { describe, expect, test } from 'vitest'
import { setUpServed } from '../app/served'
import { openPage, signIn } from './pages'
import { clear } from './seed'

const { app, database } = await setUpServed()
const { sql } = database

/** Nobody has more keys than this. */
const MAX_KEYS = 1_000

async function fill(rows: number) {
  await clear(sql)
  await sql(
    `INSERT INTO dispatch_queue (orchestrator_id, payload) SELECT 'acme', to_jsonb('job ' || n) FROM generate_series(1, $1::int) AS n`,
    [rows],
  )
  await sql(
    `INSERT INTO dispatch_history (id, orchestrator_id, payload, attempts, outcome)
     SELECT nextval('dispatch_queue_id_seq'), 'acme', to_jsonb(n), 1, (ARRAY['completed', 'failed', 'cancelled'])[1 + n % 3]
       FROM generate_series(1, $1::int) AS n`,
    [rows],
  )
  await sql(
    `INSERT INTO machines (orchestrator_id, machine_id) SELECT 'acme', 'machine-' || n FROM generate_series(1, $1::int) AS n`,
    [rows],
  )
  await sql(
    `INSERT INTO api_keys (name, role, key_hash, prefix)
     SELECT 'key ' || n, 'viewer', encode(sha256(('key ' || n)::bytea), 'hex'), 'dq_' FROM generate_series(1, $1::int) AS n`,
    [Math.min(rows, MAX_KEYS)],
  )
}

describe.each([0, 3, 100_000])('with %i rows of each kind', (rows) => {
  test('every screen shows them, or that there are none, and nothing is wider than the screen', async () => {
    await fill(rows)
    const { page } = await openPage()
    await signIn(page, app.url)
    const listed = {
      '/work': Math.min(2 * rows, 50),
      '/work?state=failed': Math.min(rows, 50) / (rows === 3 ? 3 : 1),
      '/machines': Math.min(rows, 200),
      '/keys': Math.min(rows, MAX_KEYS),
    }
    for (const [address, expected] of Object.entries(listed)) {
      await page.goto(app.url + address)
      await expect.poll(() => page.getByRole('row').count()).toBe(expected === 0 ? 0 : expected + 1)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280)
    }
    await page.goto(`${app.url}/`)
    const queued = rows > 10_000 ? '10,000+' : `${rows}`
    await expect.poll(() => page.locator('[data-state="queued"]').innerText()).toBe(queued)
  })
})
