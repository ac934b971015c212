import { describe, expect, test } from 'vitest'
import { setUpServed } from '../app/served'
import { ADMIN_KEY, insertKey } from '../http/instance'
import { insertFinished, insertWork } from '../support/factories'
import { openPage, signIn } from './pages'
import { clear } from './seed'

const { app, database } = await setUpServed()
const { sql } = database

async function sessionCookie(key: string): Promise<string> {
  const { page, context } = await openPage()
  await signIn(page, app.url, key)
  const [cookie] = await context.cookies()
  return `${cookie?.name}=${cookie?.value}`
}

describe('a viewer', () => {
  test('sees work and machines, and has no button that changes anything', async () => {
    await clear(sql)
    await insertFinished(sql, { orchestratorId: 'acme', outcome: 'failed' })
    const { page } = await openPage()
    await signIn(page, app.url, await insertKey(sql, 'viewer'))
    await page.goto(`${app.url}/work`)
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    expect(await page.getByRole('button', { name: 'Run again' }).count()).toBe(0)
    for (const address of ['/keys', '/try']) {
      await page.goto(app.url + address)
      expect(await page.getByRole('main').innerText()).toContain('This page needs an admin’s')
    }
  })

  test('is refused by the server, whatever its page sends', async () => {
    const cookie = await sessionCookie(await insertKey(sql, 'viewer'))
    const headers = { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
    const body = JSON.stringify({ action: 'cancel', items: [{ queueId: 1, attempts: 0, claimedBy: null }] })
    const { status } = await fetch(`${app.url}/api/work/actions`, { method: 'POST', headers, body })
    expect(status).toBe(403)
  })

  test('of one orchestrator sees that one’s work only', async () => {
    await clear(sql)
    const { queueId } = await insertWork(sql, { orchestratorId: 'globex' })
    await insertWork(sql, { orchestratorId: 'acme' })
    const cookie = await sessionCookie(await insertKey(sql, 'viewer', { orchestratorId: 'acme' }))
    const get = async (path: string) => fetch(app.url + path, { headers: { cookie } })
    expect(await (await get('/api/work')).text()).not.toContain('globex')
    expect((await get(`/api/work/${queueId}`)).status).toBe(404)
    expect((await get(`/work/${queueId}`)).status).toBe(404)
    expect(await (await get('/api/overview')).json()).toMatchObject({ queued: 1 })
  })
})

describe('a session', () => {
  test('is good for requests of our own pages alone: another site’s, or another origin’s, are refused', async () => {
    await clear(sql)
    const cookie = await sessionCookie(ADMIN_KEY)
    const json = JSON.stringify({ orchestratorId: 'acme', items: [{ payload: 1 }] })
    const post = (headers: Record<string, string>) =>
      fetch(`${app.url}/api/enqueue`, {
        method: 'POST',
        headers: { cookie, 'content-type': 'application/json', ...headers },
        body: json,
      })
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.test' },
      { origin: 'null' },
      {},
    ])
      expect((await post(headers)).status).toBe(401)
    expect(await sql('SELECT 1 FROM dispatch_queue')).toHaveLength(0)
    expect((await post({ 'sec-fetch-site': 'same-origin' })).status).toBe(201)
    expect((await post({ origin: app.url })).status).toBe(201)
    const get = (headers: Record<string, string>) => fetch(`${app.url}/api/work`, { headers: { cookie, ...headers } })
    expect((await get({ 'sec-fetch-site': 'cross-site' })).status).toBe(401)
    expect((await get({ 'sec-fetch-site': 'same-origin' })).status).toBe(200)
  })

  test('ends with its key: a revoked viewer is asked to sign in again', async () => {
    const cookie = await sessionCookie(await insertKey(sql, 'viewer'))
    await sql('UPDATE api_keys SET revoked_at = now()')
    expect((await fetch(`${app.url}/api/work`, { headers: { cookie } })).status).toBe(401)
    const page = await fetch(`${app.url}/work`, { headers: { cookie }, redirect: 'manual' })
    expect(page.headers.get('location')).toContain('problem=session-ended')
  })
})

test('every page has a policy of its own, under which no inline script runs without its nonce', async () => {
  const policies = new Set<string>()
  for (const address of ['/sign-in', '/sign-in', '/nope']) {
    const policy = (await fetch(app.url + address)).headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/script-src 'nonce-[\w+/=]{20,}' 'strict-dynamic';/)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/script-src[^;]*unsafe-inline/)
    policies.add(policy)
  }
  expect(policies.size).toBe(3)
  const { page } = await openPage({}, /Content Security Policy|violates|Failed to load resource/)
  await signIn(page, app.url)
  await page.evaluate(() => {
    document.body.innerHTML += '<img src="x" onerror="document.title = \'owned\'">'
  })
  expect(await page.title()).not.toBe('owned')
})

test('after ten wrong keys an address waits, and a right key does not help it', async () => {
  const signInFrom = (address: string, key: string) =>
    fetch(`${app.url}/sign-in/key`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'x-forwarded-for': address,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ key }),
    }).then((response) => response.headers.get('location'))
  for (let n = 0; n < 10; n += 1) expect(await signInFrom('192.0.2.7', `wrong-${n}`)).toContain('wrong-key')
  expect(await signInFrom('192.0.2.7', ADMIN_KEY)).toContain('too-many')
  expect(await signInFrom('192.0.2.8', ADMIN_KEY)).toBe('/')
})
