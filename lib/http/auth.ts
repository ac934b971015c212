import { hash, timingSafeEqual } from 'node:crypto'
import type { Config } from '@/lib/config'
import type { Db } from '@/lib/db/client'
import { ProblemError } from '@/lib/http/problem'
import { sessionOfRequest } from '@/lib/http/session'
import { findCachedKey } from '@/lib/instance/key-cache'
import { hashKey, type Role } from '@/lib/queue/create-key'

/** Who calls. */
export interface Caller {
  /** null: the root key. */
  keyId: string | null
  role: Role
  /** The only orchestrator that the key is good for; null: all of them. */
  orchestratorId: string | null
}

const rootCaller: Caller = { keyId: null, role: 'admin', orchestratorId: null }

/** Compares two secrets in a time that depends on neither: their digests are compared, which have one length. */
export function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer')
  return timingSafeEqual(digest(given), digest(expected))
}

/** The credential of `Authorization: Bearer …` (RFC 6750, section 2.1); the only place where one is looked for. */
export function bearerToken(request: Request): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,512})$/i.exec(request.headers.get('authorization') ?? '')?.[1]
}

/** The answer to a request without a good key; it does not say what is wrong with the key. */
export function unauthorized(): ProblemError {
  return new ProblemError(
    'unauthorized',
    'Send a valid key as "Authorization: Bearer <key>".',
    {},
    {
      'www-authenticate': 'Bearer realm="dispatch-queue"',
    },
  )
}

/** Who holds this key, or undefined for one that is not good. */
export async function callerOfKey(key: string, db: Db, config: Pick<Config, 'adminKey'>): Promise<Caller | undefined> {
  if (config.adminKey !== undefined && isSameSecret(key, config.adminKey)) return rootCaller
  const keyHash = hashKey(key)
  const found = await findCachedKey(db, keyHash)
  if (found === undefined || !timingSafeEqual(Buffer.from(found.keyHash), Buffer.from(keyHash))) return undefined
  return { keyId: found.id, role: found.role, orchestratorId: found.orchestratorId }
}

/**
 * Who calls: by a key, or by the session of one of our own pages.
 *
 * @throws {ProblemError} 401 without a good key or session, 403 for a key whose role may not do this; an admin may do everything
 */
export async function authenticate(
  request: Request,
  roles: readonly Role[],
  db: Db,
  config: Pick<Config, 'adminKey'>,
): Promise<Caller> {
  const key = bearerToken(request)
  const caller = key === undefined ? await sessionOfRequest(request, db, config) : await callerOfKey(key, db, config)
  if (caller === undefined) throw unauthorized()
  if (caller.role === 'admin' || roles.includes(caller.role)) return caller
  const allowed = [...roles, 'admin'].join(' or ')
  throw new ProblemError(
    'forbidden',
    `A key with the role ${caller.role} may not do this. Use one with the role ${allowed}.`,
  )
}

/** @throws {ProblemError} 403 for another orchestrator's work, whether or not there is such an orchestrator */
export function requireOrchestrator(caller: Caller, input: unknown): void {
  if (caller.orchestratorId === null || typeof input !== 'object' || input === null) return
  if (!('orchestratorId' in input) || input.orchestratorId === undefined) return
  if (input.orchestratorId === caller.orchestratorId) return
  throw new ProblemError(
    'forbidden',
    'This key is for another orchestrator. Use its own orchestratorId, or another key.',
  )
}
