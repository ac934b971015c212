import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { backoffMs, sleep } from '@/lib/client/sleep'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

async function isOverAfter(ms: number, delay: number): Promise<boolean> {
  let isOver = false
  void sleep(delay).then(() => {
    isOver = true
  })
  await vi.advanceTimersByTimeAsync(ms)
  return isOver
}

test.each([2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY])('a pause of %d ms does not end at once', async (delay) => {
  expect(await isOverAfter(60_000, delay)).toBe(false)
})

test.each([Number.NaN, -1, 0])('a pause of %d ms is none', async (delay) => {
  expect(await isOverAfter(1, delay)).toBe(true)
})

test('an abort ends a pause, and leaves no timer behind', async () => {
  const abort = new AbortController()
  const pause = sleep(60_000, abort.signal)
  abort.abort()
  await pause
  expect(vi.getTimerCount()).toBe(0)
})

test.each([1, 2, 5, 30, 1_000, Number.MAX_SAFE_INTEGER])(
  'after %d failures the delay lies between its least and its cap',
  (failures) => {
    for (let round = 0; round < 200; round += 1) {
      const delay = backoffMs(failures, { baseMs: 500, capMs: 60_000 })
      expect(delay).toBeGreaterThanOrEqual(100)
      expect(delay).toBeLessThanOrEqual(60_000)
    }
  },
)

test('delays are spread, so that machines which failed together do not come back together', () => {
  const delays = Array.from({ length: 200 }, () => backoffMs(5, { baseMs: 500, capMs: 60_000 }))
  expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(0.2 * 8_000)
})
