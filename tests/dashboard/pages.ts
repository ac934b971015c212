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
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
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
  await page.getByLabel('Admin key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForLoadState()
}
