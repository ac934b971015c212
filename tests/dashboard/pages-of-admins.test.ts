import { expect, onTestFinished, test } from 'vitest'
import { setUpServed } from '../app/served'
import { appEnvironment } from '../http/instance'
import { startApp } from '../support/app'
import { openPage, signIn } from './pages'
import { clear, seed } from './seed'

const { app, database, send } = await setUpServed()
const { sql } = database

async function open(address: string) {
  const { page } = await openPage()
  await signIn(page, app.url)
  await page.goto(app.url + address)
  return page
}

test('the overview counts what is in the database, names what needs a person, and follows what changes', async () => {
  await seed(sql)
  const page = await open('/')
  const count = (state: string) => page.locator(`[data-state="${state}"]`).innerText()
  for (const [state, expected] of [
    ['queued', '3'],
    ['scheduled', '1'],
    ['claimed', '1'],
    ['stale', '1'],
  ] as const)
    expect(await count(state)).toBe(expected)
  const alarms = await page.getByRole('alert', { name: 'What needs a person' }).innerText()
  expect(alarms).toMatch(/1 stale: the longest since 10m/)
  expect(alarms).toContain('Work of globex waits, and none of its machines has ever polled.')
  await sql(`INSERT INTO dispatch_queue (orchestrator_id, payload) VALUES ('acme', '1')`)
  await expect.poll(() => count('queued'), { timeout: 15_000 }).toBe('4')
  await page.getByLabel('Orchestrator').fill('globex')
  await expect.poll(() => count('queued'), { timeout: 15_000 }).toBe('1')
  expect(page.url()).toContain('orchestrator=globex')
})

test('the overview of an empty queue is there, with nothing to worry about', async () => {
  await clear(sql)
  const page = await open('/')
  expect(await page.locator('[data-state="queued"]').innerText()).toBe('0')
  expect(await page.getByRole('alert', { name: 'What needs a person' }).count()).toBe(0)
})

test('the machines say what they hold and whether they are there', async () => {
  const { held } = await seed(sql)
  const page = await open('/machines')
  const row = (name: string) => page.getByRole('row').filter({ hasText: name }).innerText()
  expect(await row('laptop-of-ada')).toMatch(new RegExp(`online[\\s\\S]*#${held.queueId}`))
  expect(await row('ci-4')).toContain('idle')
  expect(await row('desktop-7')).toContain('away')
})

test('a key is made, shown once, works, and is refused once revoked', async () => {
  await clear(sql)
  const page = await open('/keys')
  await page.getByLabel('Name').fill('ci')
  await page.getByLabel('Orchestrator', { exact: true }).fill('acme')
  await page.getByRole('button', { name: 'Create' }).click()
  const key = await page.locator('[role=status] code').innerText()
  const poll = () => send('GET', '/api/poll?orchestratorId=acme', { key })
  expect((await poll()).status).toBe(200)
  await page.reload()
  expect(await page.locator('body').innerText()).not.toContain(key)
  await page.getByRole('button', { name: 'Revoke ci' }).click()
  await page.getByRole('button', { name: 'Yes, revoke' }).click()
  await page.getByText('ci is revoked.').waitFor()
  expect((await poll()).status).toBe(401)
})

test('work is put in by hand; what is no JSON is said before it is sent', async () => {
  await clear(sql)
  const page = await open('/try')
  await page.getByLabel('Payload, as JSON').fill('{"issue": ')
  expect(await page.locator('#payload-problem').innerText()).not.toBe('')
  expect(await page.getByRole('button', { name: 'Enqueue' }).isDisabled()).toBe(true)
  await page.getByLabel('Payload, as JSON').fill('{"issue": "ENG-7"}')
  await page.getByRole('button', { name: 'Enqueue' }).click()
  await page.getByRole('link', { name: /^work \d+$/ }).click()
  await page.waitForURL('**/work/*')
  expect(await sql('SELECT payload FROM dispatch_queue')).toStrictEqual([{ payload: { issue: 'ENG-7' } }])
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
  const { page } = await openPage({}, /Failed to load resource|Content Security Policy/)
  const response = await page.goto(`${app.url}/nope`)
  expect(response?.status()).toBe(404)
  expect(await page.getByRole('link').count()).toBeGreaterThan(0)
})
