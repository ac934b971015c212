import { randomUUID } from 'node:crypto'

/** Values that a field of a request takes, to the edge of its limits, and values just beyond. */
export interface FieldValues {
  accepts: readonly unknown[]
  refuses: readonly unknown[]
}

const notText = [5, true, {}, [], ['x']]
const notWhole = ['5', '', 1.5, 0.1, 1e300, true, {}, [], [5], 9_007_199_254_740_992, -9_007_199_254_740_992]
const controls = ['a\u0000b', '\u0000', 'a\nb', '\t', '\u001f', '\u007f', 'a\u0085b']
const loneSurrogates = ['\ud800', 'a\udfffb', '\udc00\ud800']

/** A whole number from `min` to `max`. */
const whole = (min: number, max: number): FieldValues => ({
  accepts: [min, max],
  refuses: [min - 1, max + 1, ...notWhole],
})

/** A text of 1 to `max` characters, as Postgres counts them: an emoji is one. */
const name = (max: number): FieldValues => ({
  accepts: [
    'x',
    'x'.repeat(max),
    '😀👨‍👩‍👧‍👦é\u200f',
    '😀'.repeat(max),
    "'; DROP TABLE dispatch_queue; --",
    '%s\\u0000',
    ' ',
  ],
  refuses: ['', 'x'.repeat(max + 1), `${'😀'.repeat(max)}x`, ...controls, ...loneSurrogates, ...notText],
})

const uuid: FieldValues = {
  accepts: [randomUUID(), randomUUID().toUpperCase(), '00000000-0000-0000-0000-000000000000'],
  refuses: [
    '',
    'x',
    randomUUID().slice(1),
    `{${randomUUID()}}`,
    randomUUID().replaceAll('-', ''),
    `${randomUUID()}\u0000`,
    ...notText,
  ],
}

/** Free text is mended, never refused: reporting a failure must not itself fail. */
const freeText: FieldValues = {
  accepts: ['', 'x'.repeat(100_000), 'a\u0000b', ...loneSurrogates, '😀', '\n'],
  refuses: notText,
}

export const orchestratorIds = name(200)
export const machineIds = name(200)
export const queueIds: FieldValues = {
  accepts: [1, 2_147_483_648, 4_294_967_297, Number.MAX_SAFE_INTEGER],
  refuses: [0, -1, ...notWhole],
}
export const claimTokens = uuid
export const enqueueIds = uuid
export const dedupeKeys = name(256)
export const keyNames = name(200)
export const priorities = whole(-1_000, 1_000)
export const delays = whole(0, 31 * 24 * 60 * 60 * 1_000)
export const claimTimeouts = whole(1_000, 86_400_000)
export const attemptLimits = whole(1, 100)
export const progresses = whole(0, 100)
export const limits = whole(1, 100)
// Longer ones wait: what they do is told by the tests of waiting.
export const waits: FieldValues = { ...whole(0, 25_000), accepts: [0] }
export const freeTexts = freeText
export const flags: FieldValues = { accepts: [true, false], refuses: ['false', 'true', '', 0, 1, {}, []] }
export const roles: FieldValues = { accepts: ['producer', 'viewer'], refuses: ['', 'root', 'Admin', ...notText, null] }
