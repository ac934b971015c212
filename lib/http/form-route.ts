import { isFromOwnPage } from '@/lib/http/own-page'
import { seeOther } from '@/lib/http/session'
import { log, loggableError } from '@/lib/instance/log'

/** Our forms hold a key at most. */
const MAX_FORM_BYTES = 8_192

/**
 * Makes the handler of a form on a page of ours: a post from another site's page is refused with 403, and one whose handling
 * fails is logged and answered by the sign-in page, which says that something is down.
 */
export function formRoute(
  handle: (form: URLSearchParams, request: Request) => Promise<Response>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (!isFromOwnPage(request)) return new Response('This form was sent from another site.\n', { status: 403 })
    try {
      return await handle(await readForm(request), request)
    } catch (error) {
      log().error(loggableError(error), 'a form could not be handled')
      return seeOther('/sign-in?problem=unavailable')
    }
  }
}

/** What is over the limit is not read: the form is then as good as empty. */
async function readForm(request: Request): Promise<URLSearchParams> {
  const reader = request.body?.getReader()
  const chunks: Uint8Array[] = []
  for (let size = 0; reader !== undefined; ) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.byteLength
    if (size > MAX_FORM_BYTES) {
      await reader.cancel()
      return new URLSearchParams()
    }
    chunks.push(value)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'))
}
