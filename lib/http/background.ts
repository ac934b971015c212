import { waitUntil } from '@vercel/functions'
import { after } from 'next/server'

/**
 * Carries work that is already running past the response: Next's `after` keeps the function alive for it on Vercel and
 * makes a SIGTERM wait for it under `next start`; outside a request, Vercel's `waitUntil` does, where there is one.
 *
 * @param running must never reject; undefined where nothing runs, since Next's `after` costs each request that calls it
 */
export function carryPastResponse(running: Promise<void> | undefined): void {
  if (running === undefined) return
  try {
    after(() => running)
  } catch {
    waitUntil(running)
  }
}
