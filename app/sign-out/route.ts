import { formRoute } from '@/lib/http/form-route'
import { signedOut } from '@/lib/http/session'

/** Ends the browser's session. Sent twice: the same. */
export const POST = formRoute(async (_form, request) => signedOut(request))
