import { hkdfSync } from 'node:crypto'
import { sealData, unsealData } from 'iron-session'
import { z } from 'zod'

/** How long a sign-in link is good for. Seals allow clocks a minute of difference on top. */
const TTL_SECONDS = 900

const content = z.strictObject({ purpose: z.literal('sign-in') })

/** A code for a sign-in link: sealed, good for 15 minutes, and no help in finding the admin key. */
export function signInCode(adminKey: string): Promise<string> {
  return sealData({ purpose: 'sign-in' }, { password: sealPassword(adminKey, 'sign-in code'), ttl: TTL_SECONDS })
}

/** Whether a code was made by {@link signInCode} with this admin key, in the last 15 minutes. */
export async function isSignInCode(code: string, adminKey: string): Promise<boolean> {
  return content.safeParse(await unseal(code, sealPassword(adminKey, 'sign-in code'), TTL_SECONDS)).success
}

/** What a seal holds; undefined for one that is forged, damaged or expired. */
export async function unseal(seal: string, password: string, ttl: number): Promise<unknown> {
  return unsealData<unknown>(seal, { password, ttl }).catch(() => undefined)
}

/** A password for seals of one kind, out of the admin key: another admin key makes all seals void. */
export function sealPassword(adminKey: string, kind: 'session' | 'sign-in code'): string {
  return Buffer.from(hkdfSync('sha256', adminKey, '', `dispatch-queue ${kind} 1`, 32)).toString('base64url')
}
