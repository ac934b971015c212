import { sealData } from 'iron-session'
import { describe, expect, test } from 'vitest'
import { sealPassword, signInCode } from '@/lib/http/sign-in-code'
import { setUpServed } from '../app/served'
import { ADMIN_KEY, insertKey } from '../http/instance'
import { openPage, signIn } from './pages'

const { app, database } = await setUpServed()
const { sql } = database
const overview = `${app.url}/`

describe('the sign-in form', () => {
  test('lets a person in by the root key and by an issued admin key, with a cookie that no script can read', async () => {
    for (const key of [ADMIN_KEY, await insertKey(sql, 'admin')]) {
      const { page, context } = await openPage()
      await signIn(page, app.url, key)
      expect(page.url()).toBe(overview)
      const [cookie, ...others] = await context.cookies()
      expect(others).toStrictEqual([])
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Lax', path: '/', secure: false })
      expect(decodeURIComponent(cookie?.value ?? '')).not.toContain(key)
    }
  })

  test.each([
    ['a key that does not exist', async () => 'dq_nobody-has-this-key', 'This key is not valid.'],
    ['a revoked key', () => insertKey(sql, 'admin', { isRevoked: true }), 'This key is not valid.'],
    ['a producer’s key', () => insertKey(sql, 'producer'), 'the dashboard needs a key with the role admin or viewer'],
    [
      'an orchestrator’s key',
      () => insertKey(sql, 'orchestrator', { orchestratorId: 'acme' }),
      'the dashboard needs a key with the role admin or viewer',
    ],
    ['something far too long', async () => 'x'.repeat(20_000), 'This key is not valid.'],
  ])('refuses %s, and says why', async (_what, makeKey, message) => {
    const { page, context } = await openPage()
    await signIn(page, app.url, await makeKey())
    await page.getByRole('alert').and(page.locator('#problem')).waitFor()
    expect(await page.locator('#problem').textContent()).toContain(message)
    expect(await context.cookies()).toStrictEqual([])
  })

  test('sets a cookie for HTTPS alone where the browser came by HTTPS', async () => {
    const headers = { 'sec-fetch-site': 'same-origin', 'x-forwarded-proto': 'https' }
    const response = await fetch(`${app.url}/sign-in/key`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ key: ADMIN_KEY }),
      redirect: 'manual',
    })
    expect(response.status).toBe(303)
    expect(response.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax; Secure$/)
  })

  test.each<Record<string, string>>([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    {},
  ])('refuses a post that no page of ours sent: %j', async (headers) => {
    for (const path of ['/sign-in/key', '/sign-out']) {
      const response = await fetch(`${app.url}${path}`, {
        method: 'POST',
        headers,
        body: new URLSearchParams({ key: ADMIN_KEY }),
        redirect: 'manual',
      })
      expect(response.status).toBe(403)
      expect(response.headers.get('set-cookie')).toBeNull()
    }
  })
})

describe('the sign-in link', () => {
  test('signs a person in, and holds nothing of the key', async () => {
    const code = await signInCode(ADMIN_KEY)
    expect(code).not.toContain(ADMIN_KEY)
    const { page } = await openPage()
    await page.goto(`${app.url}/sign-in/link?code=${encodeURIComponent(code)}`)
    expect(page.url()).toBe(overview)
  })

  const password = sealPassword(ADMIN_KEY, 'sign-in code')
  test.each([
    ['that was tampered with', async () => (await signInCode(ADMIN_KEY)).replace(/.~2$/, 'x~2')],
    ['made with another key', () => signInCode('another-admin-key-of-the-tests')],
    // Seals allow clocks a minute of difference.
    ['that is over', () => sealData({ purpose: 'sign-in' }, { password, ttl: -120 })],
    ['of another purpose', () => sealData({ purpose: 'session' }, { password, ttl: 900 })],
    ['that is empty', async () => ''],
  ])('%s signs nobody in, and says so', async (_what, makeCode) => {
    const { page, context } = await openPage()
    await page.goto(`${app.url}/sign-in/link?code=${encodeURIComponent(await makeCode())}`)
    expect(await page.locator('#problem').textContent()).toContain('This sign-in link is not valid any more')
    expect(await context.cookies()).toStrictEqual([])
  })
})

describe('without a good session', () => {
  test('every page leads to the sign-in, and tells nothing else', async () => {
    const { page } = await openPage()
    await page.goto(overview)
    expect(page.url()).toBe(`${app.url}/sign-in`)
    expect(await page.locator('#problem').count()).toBe(0)
  })

  test('a forged cookie is none', async () => {
    const { page, context } = await openPage()
    await context.addCookies([{ name: 'dispatch_session', value: 'Fe26.2*1*forged', url: app.url }])
    await page.goto(overview)
    expect(page.url()).toBe(`${app.url}/sign-in?problem=session-ended`)
  })

  test('a session ends with its key, and by signing out', async () => {
    const key = await insertKey(sql, 'admin')
    const { page, context } = await openPage()
    await signIn(page, app.url, key)
    expect(page.url()).toBe(overview)
    await sql('UPDATE api_keys SET revoked_at = now() WHERE role = $1', ['admin'])
    await page.goto(overview)
    expect(page.url()).toContain('/sign-in?problem=session-ended')
    await signIn(page, app.url)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${app.url}/sign-in`)
    expect(await context.cookies()).toStrictEqual([])
  })
})

test('every page says that no other site may frame it, and what may run in it', async () => {
  for (const path of ['/', '/sign-in', '/nope', '/api/health']) {
    const { headers } = await fetch(`${app.url}${path}`)
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  }
})
