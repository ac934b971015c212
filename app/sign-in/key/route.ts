import { getConfig } from '@/lib/config'
import { getDb } from '@/lib/db/client'
import { callerOfKey } from '@/lib/http/auth'
import { formRoute } from '@/lib/http/form-route'
import { seeOther, signedIn } from '@/lib/http/session'

/** Signs a person in by the admin key that they typed. Sent twice: two sessions, of which the browser keeps the later. */
export const POST = formRoute(async (form, request) => {
  const config = getConfig()
  if (config.adminKey === undefined) return seeOther('/sign-in')
  const caller = await callerOfKey((form.get('key') ?? '').trim(), getDb(), config)
  if (caller === undefined) return seeOther('/sign-in?problem=wrong-key')
  if (caller.role !== 'admin') return seeOther('/sign-in?problem=wrong-role')
  return signedIn(request, config.adminKey, { keyId: caller.keyId })
})

/** Somebody reloaded or typed the form's address. */
export const GET = async () => seeOther('/sign-in')
