import { type Logger, pino } from 'pino'
import { getConfig } from '@/lib/config'
import { sqlState } from '@/lib/db/errors'

let logger: Logger | undefined

/** This process's log: JSON lines on stdout. Keys, tokens and payloads are never handed to it. */
export function log(): Logger {
  logger ??= pino({ level: getConfig().logLevel, base: null })
  return logger
}

/**
 * What may be logged of an error. A database error's message holds SQL, parameters or stored values, so only its
 * SQLSTATE and its kind are kept; of any other error the stack is.
 */
export function loggableError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: typeof error }
  const state = sqlState(error)
  if (state !== undefined) return { error: error.name, sqlState: state }
  const isQuery = error.name === 'DrizzleQueryError' || 'query' in error
  const cause = error.cause instanceof Error ? error.cause.name : undefined
  return isQuery ? { error: error.name, cause } : { error: error.name, stack: error.stack }
}
