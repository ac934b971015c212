import { toJson } from '@/lib/db/json-text'

export { toJson }

/** An answer ends early at so many bytes of payload: Vercel refuses a response over 4.5 MB. */
export const MAX_ANSWER_BYTES = 3_000_000

/** Compressing less than this costs more than it saves; it is what middleware for compression leaves alone, too. */
const MIN_COMPRESSED_LENGTH = 1_024

/**
 * A JSON answer that no cache keeps. A short one is not to be compressed (RFC 9111 section 5.2.2.6): Next would, however
 * short, since it does not know the length before it begins.
 */
export function jsonResponse(answer: unknown, status: number, headers: Record<string, string> = {}): Response {
  const text = toJson(answer)
  const cacheControl = text.length < MIN_COMPRESSED_LENGTH ? 'no-store, no-transform' : 'no-store'
  return new Response(streamOf(text), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': cacheControl, ...headers },
  })
}

const encoder = new TextEncoder()

/** Next copies an answer from stream to stream; from the byte stream that a Response makes of a text that takes twice as long. */
function streamOf(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue(encoder.encode(text))
      controller.close()
    },
  })
}
