import { signInCode } from '@/lib/http/sign-in-code'

/** A link that signs a person in to the dashboard, good for 15 minutes; it carries a signed code, never the key. */
export async function signInLink(origin: string, adminKey: string): Promise<string> {
  return `${origin}/sign-in/link?code=${encodeURIComponent(await signInCode(adminKey))}`
}
