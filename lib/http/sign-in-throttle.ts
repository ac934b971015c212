import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

const WRONG_KEYS = 10
const WITHIN_SECONDS = 300

const wrongKeys = new RateLimiterMemory({ points: WRONG_KEYS, duration: WITHIN_SECONDS })

/** From where a sign-in comes, as the proxy before us says; all without a proxy count as one. */
const addressOf = (request: Request) => request.headers.get('x-forwarded-for')?.split(',')[0]?.trim() ?? 'direct'

/** Whether so many wrong keys came from this address lately that no further one is looked at. Each instance counts for itself. */
export async function isThrottled(request: Request): Promise<boolean> {
  return ((await wrongKeys.get(addressOf(request)))?.consumedPoints ?? 0) >= WRONG_KEYS
}

/** Counts a wrong key. */
export async function noteWrongKey(request: Request): Promise<void> {
  await wrongKeys.consume(addressOf(request)).catch((error: unknown) => {
    // What it throws when there are no points left; the count stands.
    if (!(error instanceof RateLimiterRes)) throw error
  })
}
