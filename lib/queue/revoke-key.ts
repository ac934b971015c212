import { eq, sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { apiKeys } from '@/lib/db/schema'
import { QueueError } from '@/lib/queue/errors'

/**
 * Ends a key for good; repeating it changes nothing.
 *
 * @throws {QueueError} not-found
 */
export async function revokeKey(db: Db, id: string): Promise<void> {
  const [revoked] = await db
    .update(apiKeys)
    .set({ revokedAt: sql`coalesce(${apiKeys.revokedAt}, now())` })
    .where(eq(apiKeys.id, id))
    .returning({ id: apiKeys.id })
  if (revoked === undefined) throw new QueueError({ code: 'not-found' }, `There is no key ${id}.`)
}
