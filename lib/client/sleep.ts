/** The longest delay that setTimeout keeps; a longer one would fire at once. */
const MAX_DELAY_MS = 2_147_483_647

/** Waits, at most 24.8 days, or until the signal aborts; it never rejects. A delay that is no number is none. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  const delay = Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), MAX_DELAY_MS)
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, delay)
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** A delay that doubles with each failure up to a cap, with full jitter: anywhere between a fifth of it and all of it. */
export function backoffMs(failures: number, { baseMs, capMs }: { baseMs: number; capMs: number }): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(Math.max(failures - 1, 0), 20))
  return ceiling * (0.2 + 0.8 * Math.random())
}
