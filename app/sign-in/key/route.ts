import { getConfig } from '@/lib/config'
import { getDb } from '@/lib/db/client'
import { callerOfKey } from '@/lib/http/auth'
import { formRoute } from '@/lib/http/form-route'
import { maySignIn, seeOther, signedIn } from '@/lib/http/session'
import { isThrottled, noteWrongKey } from '@/lib/http/sign-in-throttle'

/** Signs a person in by the admin's or viewer's key that they typed; after ten wrong ones in five minutes an address waits. Sent twice: two sessions, of which the browser keeps the later. */
export const POST = formRoute(async (form, request) => {
  const config = getConfig()
  if (config.adminKey === undefined) return seeOther('/sign-in')
  if (await isThrottled(request)) return seeOther('/sign-in?problem=too-many')
  const caller = await callerOfKey((form.get('key') ?? '').trim(), getDb(), config)
  if (caller === undefined) {
    await noteWrongKey(request)
    return seeOther('/sign-in?problem=wrong-key')
  }
  if (!maySignIn(caller.role)) return seeOther('/sign-in?problem=wrong-role')
  return signedIn(request, config.adminKey, caller.keyId)
})

/** Somebody reloaded or typed the form's address. */
export const GET = async () => seeOther('/sign-in')
