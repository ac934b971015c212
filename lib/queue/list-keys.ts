import { desc } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { apiKeys } from '@/lib/db/schema'
import { type KeyRecord, keyRecordColumns } from '@/lib/queue/create-key'

/** All keys, newest first, revoked ones too; no secret is stored, so none is answered. */
export function listKeys(db: Db): Promise<KeyRecord[]> {
  return db.select(keyRecordColumns).from(apiKeys).orderBy(desc(apiKeys.createdAt), apiKeys.id)
}
