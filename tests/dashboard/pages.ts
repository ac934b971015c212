import axe from 'axe-core'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, expect, onTestFinished } from 'vitest'
import { ADMIN_KEY } from '../http/instance'
import { launchBrowser } from '../support/browser'

const browser = await launchBrowser()
afterAll(() => browser.close())

/**
 * A page of a browser that nobody has used before; a fault that the page reports fails the test.
 *
 * @param expected the faults that the test itself brings about
 */
export async function openPage(
  options: BrowserContextOptions = {},
  expected = /Failed to load resource/,
): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-US', ...options })
  const page = await context.newPage()
  const faults: string[] = []
  const note = (text: string) => {
    if (!expected.test(text)) faults.push(text)
  }
  page.on('pageerror', (error) => note(error.message))
  page.on('console', (message) => message.type() === 'error' && note(message.text()))
  onTestFinished(async () => {
    await context.close()
    expect(faults).toStrictEqual([])
  })
  return { page, context }
}

/** Types a key into the form of the sign-in page and sends it. */
export async function signIn(page: Page, url: string, key: string = ADMIN_KEY): Promise<void> {
  await page.goto(`${url}/sign-in`)
  await page.getByLabel('Key', { exact: true }).fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForLoadState()
}

/** A page of a browser that is signed in already. */
export async function openSignedIn(url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const response = await fetch(`${url}/sign-in/key`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ key: ADMIN_KEY }),
  })
  const [, name = '', value = ''] = /^([^=]+)=([^;]+)/.exec(response.headers.get('set-cookie') ?? '') ?? []
  const { page, context } = await openPage(options)
  await context.addCookies([{ name, value, url }])
  return page
}

/** What axe finds on a page against WCAG 2.1 A and AA, with what it finds it at. */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  return page.evaluate(async () => {
    const { violations } = await window.axe.run({
      runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] },
    })
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`)
  })
}

declare global {
  interface Window {
    axe: typeof axe
  }
}
