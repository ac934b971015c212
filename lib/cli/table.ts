import Table from 'cli-table3'
import ms from 'ms'
import pc from 'picocolors'

const BARE = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
    'middle',
  ].map((part) => [part, '']),
)

/** Rows under headings, without lines around them. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const made = new Table({
    head: head.map((heading) => pc.dim(heading)),
    chars: BARE,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
  })
  made.push(...rows.map((row) => [...row]))
  return made.toString()
}

/** Text that others stored, made harmless for a terminal: characters that could move the cursor or hide text are spelled out. */
export function stored(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}

/** How long ago an instant was, or how far off it is, by this machine's clock. */
export function since(instant: string | null, now = Date.now()): string {
  if (instant === null) return '–'
  const distance = now - Date.parse(instant)
  return distance >= 0 ? `${ms(distance)} ago` : `in ${ms(-distance)}`
}

const colours: Record<string, (text: string) => string> = {
  queued: pc.blue,
  scheduled: pc.magenta,
  claimed: pc.green,
  stale: pc.yellow,
  completed: pc.green,
  failed: pc.red,
  cancelled: pc.gray,
}

/** A state in its colour. */
export const coloured = (state: string): string => colours[state]?.(state) ?? state
