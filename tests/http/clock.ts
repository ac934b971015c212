import { setTimeout as wait } from 'node:timers/promises'
import { onTestFinished, vi } from 'vitest'

const real = performance.now.bind(performance)
let ahead = 0

/**
 * Moves this process's monotonic clock, by which an instance throttles and forgets, as if this many milliseconds had
 * passed; timers stay as they are. Each call adds to the ones before, until the test ends.
 */
export async function letTimePass(ms: number): Promise<void> {
  ahead += ms
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead)
  onTestFinished(() => {
    spy.mockRestore()
    ahead = 0
  })
  // The key cache keeps the time that it has read for a millisecond.
  await wait(3)
}
