import { z } from 'zod'

/** An optional field; JSON null is the same as leaving it out. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined)

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses.
const printable = /^[^\u0000-\u001f\u007f-\u009f]*$/

const name = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(printable, 'must not hold control characters')
    .refine((text) => text.isWellFormed(), 'must be valid Unicode')

export const orchestratorId = name(200).describe('Whose work it is; several machines share one.')
export const machineId = name(200).describe(
  'One running worker: stable across its restarts, never shared by two at once.',
)
export const queueId = z.int().min(1).describe('The id of a piece of work.')
export const claimToken = z.guid().describe('What a claim gave out, or the UUID that its caller brought.')
export const dedupeKey = name(256).describe('At most one live piece of work has it.')
export const keyName = name(200)
export const priority = z.int().min(-1000).max(1000).describe('Lower runs sooner.')
export const delayMs = z.int().min(0).max(2_678_400_000).describe('Milliseconds, at most 31 days.')
export const claimTimeoutMs = z.int().min(1_000).max(86_400_000).describe('The lease in milliseconds.')
export const maxAttempts = z.int().min(1).max(100).describe('After so many claims a failure is final.')
export const progress = z.int().min(0).max(100).describe('Percent.')
export const limit = z.int().min(1).max(100)
export const waitMs = z.int().min(0).max(25_000).describe('How long the answer may wait for work, in milliseconds.')
export const searchText = name(200)

/** Free text whose storage never fails: overlong or unstorable text is mended, not refused. */
export const freeText = z.string()

/** A whole number in a query string. */
export const inQuery = (schema: z.ZodInt) =>
  z
    .string()
    .regex(/^-?\d{1,16}$/, 'must be a whole number')
    .transform(Number)
    .pipe(schema)

/** An instant on the wire: ISO 8601, UTC, milliseconds. */
export const instant = z.iso.datetime({ precision: 3 })
export const claimLostReason = z.enum(['completed', 'failed', 'cancelled', 'reclaimed', 'released', 'unknown'])

/** No piece of work twice in one call: which of the two should count could not be told. */
export const withoutRepeats = (entries: readonly { queueId: number }[]): boolean =>
  new Set(entries.map((entry) => entry.queueId)).size === entries.length
