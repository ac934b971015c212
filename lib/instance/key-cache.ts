import { LRUCache } from 'lru-cache'
import type { Db } from '@/lib/db/client'
import { log, loggableError } from '@/lib/instance/log'
import { findKey, type ValidKey } from '@/lib/queue/find-key'
import { noteKeyUse } from '@/lib/queue/note-key-use'
import { revokeKey } from '@/lib/queue/revoke-key'

/** A revocation is felt on other instances within this long. */
const TTL_MS = 30_000
const USE_NOTED_EVERY_MS = 60_000
const MAX_KEYS = 10_000

interface KeyCache {
  /** By SHA-256; `false` for a key that is not good, so that a flood of one bad key does not reach the database. */
  keys: LRUCache<string, ValidKey | false>
  usesNoted: LRUCache<string, true>
  /** Grows with each revocation: a look-up that began before one is not kept. */
  revocations: number
}

const caches = new WeakMap<Db, KeyCache>()

function cacheOf(db: Db): KeyCache {
  let cache = caches.get(db)
  if (cache === undefined) {
    cache = {
      keys: new LRUCache({ max: MAX_KEYS, ttl: TTL_MS }),
      usesNoted: new LRUCache({ max: MAX_KEYS, ttl: USE_NOTED_EVERY_MS }),
      revocations: 0,
    }
    caches.set(db, cache)
  }
  return cache
}

/** {@link findKey} through this instance's memory, at most 30 s old. */
export async function findCachedKey(db: Db, keyHash: string): Promise<ValidKey | undefined> {
  const cache = cacheOf(db)
  const known = cache.keys.get(keyHash)
  if (known !== undefined) return known || undefined
  const { revocations } = cache
  const found = await findKey(db, keyHash)
  if (revocations === cache.revocations) cache.keys.set(keyHash, found ?? false)
  return found
}

/** {@link revokeKey}, felt on this instance at once. */
export async function revokeCachedKey(db: Db, id: string): Promise<void> {
  const cache = cacheOf(db)
  try {
    await revokeKey(db, id)
  } finally {
    cache.revocations += 1
    for (const [hash, key] of cache.keys.entries()) if (key && key.id === id) cache.keys.delete(hash)
  }
}

/**
 * Notes a key's use at most once a minute.
 *
 * @returns the note that is being written, if any; it never rejects, for a request must not fail over it
 */
export function noteCachedKeyUse(db: Db, id: string): Promise<void> | undefined {
  const { usesNoted } = cacheOf(db)
  if (usesNoted.has(id)) return undefined
  usesNoted.set(id, true)
  return writeKeyUse(db, usesNoted, id)
}

async function writeKeyUse(db: Db, usesNoted: KeyCache['usesNoted'], id: string): Promise<void> {
  try {
    await noteKeyUse(db, id)
  } catch (error) {
    usesNoted.delete(id)
    log().warn(loggableError(error), 'the use of a key could not be noted')
  }
}
