import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { setUpServed } from '../app/served'
import { insertKey } from '../http/instance'
import { axeViolations, openPage, openSignedIn } from './pages'
import { seed } from './seed'

const { app, database } = await setUpServed()
const work = await seed(database.sql)
await insertKey(database.sql, 'viewer')

const directory = path.join(import.meta.dirname, '../../screenshots')
mkdirSync(directory, { recursive: true })

const pages: [string, string][] = [
  ['overview', '/'],
  ['work', '/work'],
  ['work-failed', '/work?state=failed'],
  ['work-issues', '/work?orchestrator=acme&q=ENG-1'],
  ['work-none', '/work?q=nobody-has-this'],
  ['one-queued', `/work/${work.queued.queueId}`],
  ['one-claimed', `/work/${work.held.queueId}`],
  ['one-failed', `/work/${work.failed.queueId}`],
  ['machines', '/machines'],
  ['keys', '/keys'],
  ['try', '/try'],
]

describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
  test.each([['sign-in', '/sign-in'], ...pages])(
    'the page %s has no violation of WCAG 2.1 AA that axe finds',
    async (name, address) => {
      const page =
        name === 'sign-in' ? (await openPage({ colorScheme })).page : await openSignedIn(app.url, { colorScheme })
      await page.goto(app.url + address)
      await page.waitForLoadState('networkidle')
      await page.screenshot({ path: path.join(directory, `${name}-${colorScheme}.png`), fullPage: true })
      expect(await axeViolations(page)).toStrictEqual([])
    },
  )
})

test.each(pages)('the page %s is nowhere wider than the screen, from 390 to 1920 pixels', async (name, address) => {
  const page = await openSignedIn(app.url)
  for (const width of [390, 768, 1920]) {
    await page.setViewportSize({ width, height: 900 })
    await page.goto(app.url + address)
    await page.waitForLoadState('networkidle')
    if (width === 390) await page.screenshot({ path: path.join(directory, `${name}-390.png`), fullPage: true })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  }
})

test.each(pages)('the page %s loads less than 200 kB of compressed scripts', async (_name, address) => {
  const fresh = await openSignedIn(app.url)
  await fresh.goto(app.url + address)
  await fresh.waitForLoadState('networkidle')
  const scripts = await fresh.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .flatMap((entry) =>
        entry instanceof PerformanceResourceTiming && new URL(entry.name).pathname.endsWith('.js')
          ? [entry.encodedBodySize]
          : [],
      ),
  )
  expect(scripts.length).toBeGreaterThan(2)
  expect(scripts.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000)
})
