import { CommanderError } from 'commander'
import { DispatchError } from '@/lib/client/dispatch-error'

/** What `dispatch` ends with. From 64 on they are those of sysexits.h. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  keyRefused: 3,
  refused: 4,
  nothingToDo: 5,
  unavailable: 69,
} as const

export const exitCodeHelp = `
Exit codes:
  0   done
  1   failed: a check of doctor, or the command of work --once
  2   the command line, a file or a setting cannot be used
  3   the server refused the key (missing, wrong, revoked, or for something else)
  4   the server refused the request: not found, another state, a lost claim, not valid
  5   work --once found nothing to do
  69  no answer from the server, or it cannot work right now`

/** A fault of the command line, of a file or of a setting: what it says is all that a person needs. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** The exit code that tells of an error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
  if (error instanceof UsageError) return exitCodes.usage
  if (!(error instanceof DispatchError)) return exitCodes.failed
  if (error.status === 401 || error.status === 403) return exitCodes.keyRefused
  if (error.isTransient || error.code === 'unexpected-answer') return exitCodes.unavailable
  return exitCodes.refused
}
