import { z } from 'zod'

/** How many levels of lists and objects a payload or result may have. */
const MAX_JSON_DEPTH = 100

interface Flaw {
  path: (string | number)[]
  message: string
}

/**
 * Finds what in a JSON value could not be stored, or would come back changed: a NUL or half of a surrogate pair
 * (Postgres's jsonb refuses both), an integer that a double cannot hold exactly, more than 100 levels.
 */
function findFlaw(value: unknown, path: (string | number)[]): Flaw | undefined {
  if (typeof value === 'string') return flawOfText(value, path)
  if (typeof value === 'number') return flawOfNumber(value, path)
  if (typeof value !== 'object' || value === null) return undefined
  if (path.length >= MAX_JSON_DEPTH) return { path: [], message: `is nested deeper than ${MAX_JSON_DEPTH} levels` }
  const entries: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  for (const [key, inner] of entries) {
    const at = [...path, key]
    const flaw = (typeof key === 'string' ? flawOfText(key, at) : undefined) ?? findFlaw(inner, at)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

function flawOfText(text: string, path: (string | number)[]): Flaw | undefined {
  if (text.includes('\0')) return { path, message: 'holds the character NUL (\\u0000), which Postgres cannot store' }
  if (!text.isWellFormed()) return { path, message: 'holds half of a surrogate pair, which is not valid Unicode' }
  return undefined
}

function flawOfNumber(number: number, path: (string | number)[]): Flaw | undefined {
  if (!Number.isFinite(number)) return { path, message: 'is out of range for a JSON number; send it as a string' }
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    return {
      path,
      message: 'is an integer beyond ±(2^53 − 1), which JSON numbers do not hold exactly; send it as a string',
    }
  }
  return undefined
}

/** Any JSON value, null included, that Postgres stores and gives back as it was sent. */
export const jsonValue = z.unknown().superRefine((value, context) => {
  if (value === undefined) {
    context.addIssue({ code: 'custom', message: 'is required; it may be any JSON value, null included' })
    return
  }
  const flaw = findFlaw(value, [])
  if (flaw !== undefined) context.addIssue({ code: 'custom', path: flaw.path, message: flaw.message })
})
