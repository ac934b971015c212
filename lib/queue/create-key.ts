import { hash, randomBytes } from 'node:crypto'
import type { Db } from '@/lib/db/client'
import { apiKeys, type roles } from '@/lib/db/schema'

export type Role = (typeof roles)[number]

export interface NewKey {
  name: string
  role: Role
  /** The only orchestrator the key is good for; null: all of them. */
  orchestratorId: string | null
}

/** A key as it may be shown again: without the secret. */
export interface KeyRecord extends NewKey {
  id: string
  prefix: string
  createdAt: Date
  lastUsedAt: Date | null
  revokedAt: Date | null
}

const PREFIX_LENGTH = 11

/** The only form in which a key is stored or looked up. Keys are random, so a plain SHA-256 cannot be guessed backwards. */
export const hashKey = (key: string): string => hash('sha256', key, 'hex')

export const keyRecordColumns = {
  id: apiKeys.id,
  name: apiKeys.name,
  role: apiKeys.role,
  orchestratorId: apiKeys.orchestratorId,
  prefix: apiKeys.prefix,
  createdAt: apiKeys.createdAt,
  lastUsedAt: apiKeys.lastUsedAt,
  revokedAt: apiKeys.revokedAt,
}

/** Makes a key of 256 random bits. The answer is the only place where it can ever be seen. */
export async function createKey(db: Db, input: NewKey): Promise<KeyRecord & { key: string }> {
  const key = `dq_${randomBytes(32).toString('base64url')}`
  const [created] = await db
    .insert(apiKeys)
    .values({ ...input, keyHash: hashKey(key), prefix: key.slice(0, PREFIX_LENGTH) })
    .returning(keyRecordColumns)
  if (created === undefined) throw new Error('INSERT … RETURNING gave no row')
  return { ...created, key }
}
