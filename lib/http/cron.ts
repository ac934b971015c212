import type { Config } from '@/lib/config'
import { bearerToken, isSameSecret, unauthorized } from '@/lib/http/auth'

/** A housekeeping call starts no new batch after this long: it must end within the platform's limit for a function. */
export const HOUSEKEEPING_BUDGET_MS = 20_000

/**
 * Lets only the platform's cron in, which sends `Authorization: Bearer $CRON_SECRET`. A secret that is unset, empty or
 * too short lets nobody in.
 *
 * @throws {ProblemError} 401
 */
export function requireCronSecret(request: Request, { cronSecret }: Pick<Config, 'cronSecret'>): void {
  const given = bearerToken(request)
  if (cronSecret === undefined || given === undefined || !isSameSecret(given, cronSecret)) throw unauthorized()
}
