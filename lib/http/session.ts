import { sealData } from 'iron-session'
import { cookies } from 'next/headers'
import { redirect } from 'next/navigation'
import { z } from 'zod'
import { type Config, getConfig } from '@/lib/config'
import { type Db, getDb } from '@/lib/db/client'
import { carryPastResponse } from '@/lib/http/background'
import { isFromOwnPage } from '@/lib/http/own-page'
import { sealPassword, unseal } from '@/lib/http/sign-in-code'
import { noteCachedKeyUse } from '@/lib/instance/key-cache'
import type { Role } from '@/lib/queue/create-key'
import { findKeyById } from '@/lib/queue/find-key'

/** Roles that may sign in: an admin sees and acts, a viewer sees. */
export type SessionRole = Extract<Role, 'admin' | 'viewer'>

/** What a session's key is good for. */
export interface Session {
  /** null: the root key. */
  keyId: string | null
  role: SessionRole
  /** The only orchestrator that it sees; null: all of them. */
  orchestratorId: string | null
}

const COOKIE = 'dispatch_session'
const LIFETIME_SECONDS = 7 * 24 * 60 * 60

const content = z.strictObject({ keyId: z.guid().nullable() })

/** The session of the page's request. Without a good one the person is sent to sign in, and this never returns. */
export async function requireSession(): Promise<Session> {
  const seal = await sessionSeal()
  const session = await sessionOf(seal, getDb(), getConfig())
  if (session !== undefined) return session
  redirect(seal === undefined ? '/sign-in' : '/sign-in?problem=session-ended')
}

/** Whether the page's request comes with a good session. */
export async function hasSession(): Promise<boolean> {
  return (await sessionOf(await sessionSeal(), getDb(), getConfig())) !== undefined
}

/** Whether a key of this role opens the dashboard. */
export const maySignIn = (role: Role): role is SessionRole => role === 'admin' || role === 'viewer'

/**
 * The session that a request of one of our own pages comes with. A page of another site gets nothing from a browser's cookie:
 * the request has to come from this origin (Sec-Fetch-Site, else Origin).
 */
export async function sessionOfRequest(
  request: Request,
  db: Db,
  config: Pick<Config, 'adminKey'>,
): Promise<Session | undefined> {
  const seal = new RegExp(`(?:^|;)\\s*${COOKIE}=([^;]+)`).exec(request.headers.get('cookie') ?? '')?.[1]
  return seal !== undefined && isFromOwnPage(request) ? sessionOf(seal, db, config) : undefined
}

const sessionSeal = async () => (await cookies()).get(COOKIE)?.value || undefined

/**
 * What a session's cookie stands for; undefined when it is forged, expired, sealed under an earlier admin key, or of an
 * issued key that is revoked or neither an admin's nor a viewer's. An issued key is looked up each time, past the cache.
 */
async function sessionOf(
  seal: string | undefined,
  db: Db,
  { adminKey }: Pick<Config, 'adminKey'>,
): Promise<Session | undefined> {
  if (adminKey === undefined || seal === undefined) return undefined
  const { data: session } = content.safeParse(await unseal(seal, sealPassword(adminKey, 'session'), LIFETIME_SECONDS))
  if (session === undefined) return undefined
  if (session.keyId === null) return { keyId: null, role: 'admin', orchestratorId: null }
  const key = await findKeyById(db, session.keyId)
  if (key === undefined || !maySignIn(key.role)) return undefined
  carryPastResponse(noteCachedKeyUse(db, key.id))
  return { keyId: key.id, role: key.role, orchestratorId: key.orchestratorId }
}

/** Opens a session and sends the browser to the dashboard. */
export async function signedIn(request: Request, adminKey: string, keyId: string | null): Promise<Response> {
  const password = sealPassword(adminKey, 'session')
  return seeOther(
    '/',
    cookie(request, await sealData({ keyId }, { password, ttl: LIFETIME_SECONDS }), LIFETIME_SECONDS),
  )
}

/** Takes the session from the browser and sends it to sign in. */
export function signedOut(request: Request): Response {
  return seeOther('/sign-in', cookie(request, '', 0))
}

/** Sends the browser on to another page of ours. The path is relative, so that it holds behind any proxy and host name. */
export function seeOther(path: string, setCookie?: string): Response {
  const headers = new Headers({ location: path, 'cache-control': 'no-store' })
  if (setCookie !== undefined) headers.set('set-cookie', setCookie)
  return new Response(null, { status: 303, headers })
}

/** A seal holds only characters that a cookie may (RFC 6265, section 4.1.1). */
function cookie(request: Request, value: string, maxAgeSeconds: number): string {
  const secure = isHttps(request) ? '; Secure' : ''
  return `${COOKIE}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`
}

/** Whether the browser came over HTTPS, be it only as far as a proxy before us. */
function isHttps(request: Request): boolean {
  const forwarded = request.headers.get('x-forwarded-proto')?.split(',')[0]?.trim()
  return (forwarded ?? new URL(request.url).protocol.slice(0, -1)) === 'https'
}
