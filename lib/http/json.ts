import { randomUUID } from 'node:crypto'
import { JsonText } from '@/lib/db/json-text'

/** An answer ends early at so many bytes of payload: Vercel refuses a response over 4.5 MB. */
export const MAX_ANSWER_BYTES = 3_000_000

/** Stands in for a stored text while the rest is written; a new one per process, so no client can know it. */
const marker = randomUUID()
const markers = new RegExp(`"${marker}(\\d+)"`, 'g')

/** Writes an answer as JSON; a {@link JsonText} goes in as it stands, a Date as ISO 8601 with milliseconds in UTC. */
export function toJson(answer: unknown): string {
  const texts: string[] = []
  const skeleton = JSON.stringify(answer, (_key, value: unknown) =>
    value instanceof JsonText ? `${marker}${texts.push(value.text) - 1}` : value,
  )
  return texts.length === 0
    ? skeleton
    : skeleton.replace(markers, (_match, index: string) => texts[Number(index)] ?? 'null')
}

/** Compressing less than this costs more than it saves; it is what middleware for compression leaves alone, too. */
const MIN_COMPRESSED_LENGTH = 1_024

/**
 * A JSON answer that no cache keeps. A short one is not to be compressed (RFC 9111 section 5.2.2.6): Next would, however
 * short, since it does not know the length before it begins.
 */
export function jsonResponse(answer: unknown, status: number, headers: Record<string, string> = {}): Response {
  const text = toJson(answer)
  const cacheControl = text.length < MIN_COMPRESSED_LENGTH ? 'no-store, no-transform' : 'no-store'
  return new Response(text, {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': cacheControl, ...headers },
  })
}
