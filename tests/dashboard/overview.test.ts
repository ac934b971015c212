import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { setUpServed } from '../app/served'
import { appEnvironment } from '../http/instance'
import { startApp } from '../support/app'
import { ago, ahead, insertClaimed, insertFinished, insertWork } from '../support/factories'
import { openPage, signIn } from './pages'

const { app, database } = await setUpServed()
const { sql } = database
const clear = () => sql('TRUNCATE dispatch_queue, dispatch_history')

async function openOverview(width = 1280): Promise<Page> {
  const { page } = await openPage({ viewport: { width, height: 900 } })
  await signIn(page, app.url)
  return page
}

const list = (page: Page, title: string) => page.getByRole('region', { name: title })

test('an empty queue says so, and how to put the first piece of work in', async () => {
  await clear()
  const page = await openOverview()
  expect(await page.getByRole('main').innerText()).toMatch(/enqueue/i)
  expect(await page.getByRole('table').count()).toBe(0)
})

describe('with work in every state', () => {
  const insertAll = async () => {
    await clear()
    await insertWork(sql, {
      orchestratorId: 'acme',
      payload: { issue: 'ENG-142' },
      attempts: 1,
      createdAt: ago('3 hours'),
    })
    await insertWork(sql, { orchestratorId: 'acme', availableAt: ahead('1 hour') })
    await insertClaimed(sql, {
      orchestratorId: 'acme',
      claimedBy: 'laptop',
      claimExpiresAt: ahead('5 minutes 30 seconds'),
      progress: 40,
      progressNote: 'running tests',
    })
    await insertClaimed(sql, {
      orchestratorId: 'globex',
      claimedBy: 'desktop',
      attempts: 2,
      claimExpiresAt: ago('90 seconds'),
    })
    await insertFinished(sql)
  }

  test('the three lists show whose it is, who has it, its attempts, its age and what is left of its lease', async () => {
    await insertAll()
    const page = await openOverview()
    const [queued, claimed, stale] = [
      await list(page, 'Queued').innerText(),
      await list(page, 'Claimed').innerText(),
      await list(page, 'Stale').innerText(),
    ]
    expect(queued).toMatch(/ENG-142/)
    expect(queued).toMatch(/acme/)
    expect(queued).toMatch(/1 of 3/)
    expect(queued).toMatch(/3 h/)
    expect(claimed).toMatch(/laptop/)
    expect(claimed).toMatch(/5 min/)
    expect(claimed).toMatch(/40 ?%/)
    expect(claimed).toMatch(/running tests/)
    expect(stale).toMatch(/globex/)
    expect(stale).toMatch(/desktop/)
    expect(stale).toMatch(/2 of 3/)
    expect(stale).toMatch(/1 min/)
    expect(claimed).not.toMatch(/desktop/)
  })

  test('the counts are those of the database, and what changes there is in the next look', async () => {
    await insertAll()
    const page = await openOverview()
    const main = page.getByRole('main')
    for (const state of ['queued', 'scheduled', 'claimed', 'stale', 'completed']) {
      expect(await main.innerText()).toMatch(new RegExp(`${state}\\s+1\\b`))
    }
    await insertWork(sql, { orchestratorId: 'acme' })
    await page.getByRole('link', { name: 'Reload' }).click()
    await expect.poll(() => main.innerText()).toMatch(/queued\s+2\b/)
  })

  test.each([390, 1280, 1920])('at %i pixels nothing is cut off or has to be scrolled sideways', async (width) => {
    await insertAll()
    await insertClaimed(sql, {
      orchestratorId: 'o'.repeat(200),
      claimedBy: 'm'.repeat(200),
      payload: 'p'.repeat(5_000),
      progressNote: 'n'.repeat(1_000),
    })
    const page = await openOverview(width)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })
})

test('of thousands the first ones are listed, and how many there are is said', async () => {
  await clear()
  await sql(
    `INSERT INTO dispatch_queue (orchestrator_id, payload) SELECT 'acme', to_jsonb(n) FROM generate_series(1, 3000) AS n`,
  )
  const page = await openOverview()
  const queued = list(page, 'Queued')
  expect(await queued.getByRole('row').count()).toBe(51)
  expect(await queued.innerText()).toContain('the first 50 of 3,000')
})

test('what others have typed is text: no script of theirs runs, no direction mark turns the page', async () => {
  await clear()
  const hostile = '<script>document.title = "owned"</script><img src=x onerror="document.title=1">'
  await insertClaimed(sql, {
    orchestratorId: `\u202e${hostile}`,
    claimedBy: `${hostile}\u2066`,
    payload: { hostile },
    progressNote: hostile,
  })
  const page = await openOverview()
  expect(await page.title()).not.toMatch(/owned|1/)
  expect(await list(page, 'Claimed').innerText()).toContain('<script>')
  expect(await page.locator('main script, main img').count()).toBe(0)
})

test('while the database is away the page says so, shows no error text, and offers to try again', async () => {
  const other = await startApp({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none', env: appEnvironment() })
  onTestFinished(other.stop)
  const { page } = await openPage({}, /React error #441|Failed to load resource/)
  await signIn(page, other.url)
  const text = await page.locator('body').innerText()
  expect(text).toContain('This page could not be loaded')
  expect(text).not.toMatch(/ECONNREFUSED|SELECT|postgres:/)
  expect(await page.getByRole('link', { name: 'Try again' }).count()).toBe(1)
})

test('an address that does not exist says so, and leads back', async () => {
  const { page } = await openPage()
  const response = await page.goto(`${app.url}/nope`)
  expect(response?.status()).toBe(404)
  expect(await page.getByRole('link').count()).toBeGreaterThan(0)
})
