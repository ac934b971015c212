import { randomUUID } from 'node:crypto'

/** Stands in for a stored text while the rest is written; a new one per process, so no client can know it. */
const marker = randomUUID()
const markers = new RegExp(`"${marker}(\\d+)"`, 'g')

/** The texts that {@link toJson} has met in the answer that it is writing. */
let met: string[] | undefined

/**
 * JSON exactly as Postgres wrote it. A stored payload or result is handed on as text: it is never parsed and
 * written again here, so a number keeps its digits and no nesting is too deep to be answered.
 */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** @throws {TypeError} anywhere but under {@link toJson} */
  toJSON(): string {
    if (met === undefined) throw new TypeError('A JsonText is written by toJson only.')
    return `${marker}${met.push(this.text) - 1}`
  }
}

/** Writes an answer as JSON; a {@link JsonText} goes in as it stands, a Date as ISO 8601 with milliseconds in UTC. */
export function toJson(answer: unknown): string {
  const texts: string[] = []
  met = texts
  try {
    const skeleton = JSON.stringify(answer)
    return texts.length === 0
      ? skeleton
      : skeleton.replace(markers, (_match, index: string) => texts[Number(index)] ?? 'null')
  } finally {
    met = undefined
  }
}
