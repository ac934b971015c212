import { NeonDbError } from '@neondatabase/serverless'

/** Node's and undici's codes for a connection that failed or broke. */
const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** What `pg` says, without a code, when a connection is gone, not to be had in time, or silent. */
const lostConnection =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Client was closed/

/** The error and everything it was caused by, outermost first. drizzle keeps the driver's error as `cause`. */
function* chain(error: unknown): Generator<Error> {
  for (let at = error; at instanceof Error; at = at.cause ?? (at instanceof NeonDbError ? at.sourceError : undefined)) {
    yield at
  }
}

function codes(error: unknown): string[] {
  const found: string[] = []
  for (const link of chain(error)) if ('code' in link && typeof link.code === 'string') found.push(link.code)
  return found
}

/**
 * Postgres's five-character SQLSTATE, whichever driver it came through (Postgres manual, appendix A).
 * No class of it begins with E, as the system's own codes do (EPIPE, EPERM).
 */
export function sqlState(error: unknown): string | undefined {
  return codes(error).find((code) => /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code))
}

/** A serialization failure or deadlock: the same statement may well succeed now. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

/** The server's error for a value it cannot store: a character, a number or a structure out of range (classes 22 and 54). */
export function isUnstorableValue(error: unknown): boolean {
  return /^(22|54)/.test(sqlState(error) ?? '')
}

/**
 * The database could not be asked, or did not answer in time: nothing is known of whether the statement ran.
 * SQLSTATE classes 08 (connection), 53 (resources), 57 (shut down, cancelled by timeout), 58 (system) and 55P03 (lock timeout).
 */
export function isUnreachable(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return /^(08|53|57|58)/.test(state) || state === '55P03'
  if (codes(error).some((code) => networkCodes.has(code))) return true
  for (const link of chain(error)) {
    // Neon's driver gives an error without a code when its proxy, not Postgres, answered.
    if (
      link instanceof NeonDbError ||
      link.name === 'TimeoutError' ||
      link.name === 'AbortError' ||
      lostConnection.test(link.message)
    )
      return true
  }
  return false
}
