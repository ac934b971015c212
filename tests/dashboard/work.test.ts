import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { setUpServed } from '../app/served'
import { ADMIN_KEY, insertKey } from '../http/instance'
import { ago, allRows, insertClaimed, insertFinished, insertWork, onlyRow } from '../support/factories'
import { openPage, signIn } from './pages'
import { clear, hostile, seed } from './seed'

const { app, database, send } = await setUpServed()
const { sql } = database

async function open(address: string, key = ADMIN_KEY): Promise<Page> {
  const { page } = await openPage()
  await signIn(page, app.url, key)
  await page.goto(app.url + address)
  return page
}
const main = (page: Page) => page.getByRole('main')
const row = (page: Page, queueId: number) =>
  page.getByRole('row').filter({ has: page.locator(`[data-queue-id="${queueId}"]`) })
const select = (page: Page, queueId: number) => page.getByRole('checkbox', { name: `Select ${queueId}` }).click()
async function act(page: Page, name: string) {
  await page.getByRole('button', { name, exact: true }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: /^Yes/ }).click()
}

describe('a newcomer finds', () => {
  test('which machine holds ENG-142, from the search', async () => {
    const { held } = await seed(sql)
    const page = await open('/work')
    await page.keyboard.press('/')
    await page.keyboard.type('ENG-142')
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    expect(await row(page, held.queueId).innerText()).toMatch(
      /laptop-of-ada[\s\S]*lease left[\s\S]*40 %[\s\S]*running tests/,
    )
    await expect.poll(() => page.url()).toContain('q=ENG-142')
  })

  test('why ENG-150 waits', async () => {
    const { queued } = await seed(sql)
    const page = await open(`/work/${queued.queueId}`)
    expect(await main(page).innerText()).toContain('It waits behind 1 other. Machines are polling.')
  })

  test('how to run a failed piece of work again', async () => {
    const { failed } = await seed(sql)
    const page = await open(`/work/${failed.queueId}`)
    expect(await main(page).innerText()).toMatch(
      /Attempt 1 expired on desktop-7[\s\S]*out of disk[\s\S]*3 of 214 tests failed/,
    )
    await act(page, 'Run again')
    await page.getByText('1 put back into the queue.').waitFor()
    expect(await allRows(sql, failed.queueId)).toMatchObject({
      queue: [{ attempts: 0, claimed_at: null }],
      history: [],
    })
    await expect.poll(() => main(page).innerText()).toContain('It waits behind')
  })
})

describe('actions on a list', () => {
  test('release and cancel what is selected, and nothing else', async () => {
    const { held, stale, queued } = await seed(sql)
    const page = await open('/work?state=claimed')
    await select(page, held.queueId)
    await act(page, 'Release')
    await page.getByText('1 released.').waitFor()
    expect(await onlyRow(sql, held.queueId)).toMatchObject({ claimed_at: null, attempts: 0 })
    expect(await onlyRow(sql, stale.queueId)).toMatchObject({ claimed_by: 'desktop-7' })
    await page.goto(`${app.url}/work?state=queued`)
    await select(page, queued.queueId)
    await act(page, 'Cancel')
    await page.getByText('1 cancelled.').waitFor()
    expect((await allRows(sql, queued.queueId)).history).toMatchObject([{ outcome: 'cancelled' }])
  })

  test('a row that changed since a person looked is left alone, and that is said', async () => {
    const { held } = await seed(sql)
    const page = await open('/work?state=claimed')
    await select(page, held.queueId)
    await page.getByRole('button', { name: 'Release', exact: true }).click()
    const confirm = page.getByRole('alertdialog').getByRole('button', { name: /^Yes/ })
    await confirm.waitFor()
    await page.route('**/api/work?**', (route) => route.abort())
    await sql(`UPDATE dispatch_queue SET claimed_by = 'another', attempts = 2 WHERE id = $1`, [held.queueId])
    await confirm.click()
    await page.getByText('1 had changed since you looked').waitFor()
    expect(await onlyRow(sql, held.queueId)).toMatchObject({ claimed_by: 'another', attempts: 2 })
  })

  test('all that match are acted on, page after page, with their count', async () => {
    await clear(sql)
    for (let n = 0; n < 3; n += 1) await insertFinished(sql, { orchestratorId: 'globex', outcome: 'failed' })
    await sql(
      `INSERT INTO dispatch_history (id, orchestrator_id, payload, attempts, outcome)
       SELECT nextval('dispatch_queue_id_seq'), 'acme', to_jsonb(n), 3, 'failed' FROM generate_series(1, 230) AS n`,
    )
    const page = await open('/work?state=failed&orchestrator=acme')
    await page.getByRole('checkbox', { name: 'All that match the filters' }).click()
    await act(page, 'Run again')
    await page.getByText('230 put back into the queue.').waitFor()
    expect(await sql('SELECT 1 FROM dispatch_queue')).toHaveLength(230)
    expect(await sql('SELECT 1 FROM dispatch_history')).toHaveLength(3)
  })

  test('cancel of queued work empties a filter whose rows leave it meanwhile', async () => {
    await clear(sql)
    await sql(
      `INSERT INTO dispatch_queue (orchestrator_id, payload) SELECT 'acme', to_jsonb(n) FROM generate_series(1, 230) AS n`,
    )
    const page = await open('/work?state=queued')
    await page.getByRole('checkbox', { name: 'All that match the filters' }).click()
    await act(page, 'Cancel')
    await page.getByText('230 cancelled.').waitFor()
    await page.getByText('No work matches.').waitFor()
  })
})

test('what others have typed is text: no script of theirs runs, no direction mark turns the page', async () => {
  await clear(sql)
  const own = await insertClaimed(sql, {
    orchestratorId: `\u202e${hostile}`,
    claimedBy: `${hostile}\u2066`,
    payload: { hostile },
    progressNote: hostile,
  })
  for (const address of ['/work', `/work/${own.queueId}`]) {
    const page = await open(address)
    await expect.poll(() => main(page).innerText()).toContain('<script>')
    expect(await main(page).innerText()).toContain('\\u202e')
    expect(await page.title()).toMatch(/^Work( \d+)? · dispatch-queue$/)
    expect(await page.locator('main script, main img').count()).toBe(0)
  }
})

test('the list follows a machine that claims, and a stale row that a sweep puts back, by itself', async () => {
  await clear(sql)
  const { queueId } = await insertWork(sql, { orchestratorId: 'acme' })
  const page = await open('/work')
  await expect.poll(() => row(page, queueId).innerText()).toContain('queued')
  const key = await insertKey(sql, 'orchestrator', { orchestratorId: 'acme' })
  await send('POST', '/api/claim', { key, json: { orchestratorId: 'acme', queueId, machineId: 'laptop' } })
  await expect.poll(() => row(page, queueId).innerText(), { timeout: 15_000 }).toMatch(/claimed[\s\S]*laptop/)
  await sql(`UPDATE dispatch_queue SET claim_expires_at = now() - interval '1 second'`)
  await expect.poll(() => row(page, queueId).innerText(), { timeout: 15_000 }).toContain('stale')
  await send('POST', '/api/sweep', { key: ADMIN_KEY, json: {} })
  await expect.poll(() => row(page, queueId).innerText(), { timeout: 15_000 }).toContain('queued')
})

test('a server that does not answer is said, and what was there stays in sight', async () => {
  const { held } = await seed(sql)
  const page = await open('/work?state=claimed')
  await row(page, held.queueId).waitFor()
  await page.route('**/api/work?**', (route) => route.abort())
  await page.getByText('Could not refresh').waitFor({ timeout: 30_000 })
  expect(await row(page, held.queueId).innerText()).toContain('laptop-of-ada')
})

test('j and k move through the rows, x selects, Enter opens, ? helps, and back comes back to the same list', async () => {
  await clear(sql)
  const first = await insertWork(sql, { orchestratorId: 'acme' })
  await insertWork(sql, { orchestratorId: 'acme' })
  const page = await open('/work?state=queued')
  await row(page, first.queueId).waitFor()
  for (const key of ['j', 'j', 'x']) await page.keyboard.press(key)
  await page.getByText('1 selected').waitFor()
  expect(await page.getByRole('checkbox', { name: `Select ${first.queueId}` }).isChecked()).toBe(true)
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
  await page.keyboard.press('Escape')
  await page.locator(`[data-queue-id="${first.queueId}"]`).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/work/${first.queueId}`)
  await page.goBack()
  await row(page, first.queueId).waitFor()
  expect(page.url()).toContain('state=queued')
})

test('100,000 rows come in pages, and the search says how far it looks', async () => {
  await clear(sql)
  await sql(
    `INSERT INTO dispatch_queue (orchestrator_id, payload) SELECT 'acme', to_jsonb('job ' || n) FROM generate_series(1, 100000) AS n`,
  )
  await insertFinished(sql, { orchestratorId: 'acme', outcome: 'failed', finishedAt: ago('1 minute') })
  const page = await open('/work?state=queued')
  await expect.poll(() => page.getByRole('row').count()).toBe(51)
  const before = await page.locator('[data-queue-id]').last().innerText()
  await page.getByRole('button', { name: 'Next page' }).click()
  await expect.poll(() => page.locator('[data-queue-id]').first().innerText()).not.toBe(before)
  expect(page.url()).toContain('after=')
  await page.goto(`${app.url}/work?state=failed`)
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await page.goto(`${app.url}/`)
  await expect.poll(() => page.locator('[data-state="queued"]').innerText()).toBe('10,000+')
})

test('a hidden tab asks for nothing, and asks again when it is seen', async () => {
  await seed(sql)
  const page = await open('/work')
  await page.getByRole('row').nth(1).waitFor()
  const show = (state: string) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'visibilityState', { value, configurable: true })
      window.dispatchEvent(new Event('visibilitychange'))
    }, state)
  await show('hidden')
  let asked = 0
  page.on('request', (request) => {
    if (request.url().includes('/api/work')) asked += 1
  })
  await page.waitForTimeout(8_000)
  expect(asked).toBeLessThanOrEqual(1)
  const again = page.waitForRequest('**/api/work?**')
  await show('visible')
  await again
})
