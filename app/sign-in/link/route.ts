import { getConfig } from '@/lib/config'
import { seeOther, signedIn } from '@/lib/http/session'
import { isSignInCode } from '@/lib/http/sign-in-code'

/** Signs a person in by the link that the start printed. It works as often as it is opened within its 15 minutes. */
export async function GET(request: Request): Promise<Response> {
  const { adminKey } = getConfig()
  if (adminKey === undefined) return seeOther('/sign-in')
  const code = new URL(request.url).searchParams.get('code') ?? ''
  if (!(await isSignInCode(code, adminKey))) return seeOther('/sign-in?problem=bad-link')
  return signedIn(request, adminKey, null)
}
