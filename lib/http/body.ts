import { ProblemError } from '@/lib/http/problem'

/** Vercel refuses bodies over 4.5 MB; the limit is ours, so that it is the same everywhere. */
const MAX_BODY_BYTES = 4_000_000

const tooLarge = () =>
  new ProblemError('too-large', `The body is larger than ${MAX_BODY_BYTES} bytes. Send fewer or smaller items.`, {
    limitBytes: MAX_BODY_BYTES,
  })

/**
 * Reads a JSON body and stops as soon as it is too large.
 *
 * @throws {ProblemError} 415 for another media type, 413 over {@link MAX_BODY_BYTES}, 400 for what is not JSON in UTF-8
 */
export async function readJsonBody(request: Request): Promise<unknown> {
  const mediaType = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') {
    throw new ProblemError('unsupported-media-type', 'Send the body with "Content-Type: application/json".')
  }
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  return parse(await readBytes(request))
}

async function readBytes(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = request.body?.getReader()
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.byteLength
    if (size > MAX_BODY_BYTES) {
      await reader.cancel()
      throw tooLarge()
    }
    chunks.push(value)
  }
  return Buffer.concat(chunks, size)
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new ProblemError('invalid-request', 'The body is not JSON in UTF-8.', {
      errors: [{ path: '', message: 'is not JSON in UTF-8' }],
    })
  }
}
