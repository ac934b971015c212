import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { statement } from '@/lib/db/statement'

const noteKeyUseStatement = statement(
  'note_key_use',
  {},
  sql`UPDATE api_keys SET last_used_at = now()
       WHERE id = ${sql.placeholder('id')}::uuid
         AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
)

/** Notes that a key was used; written at most once a minute. */
export async function noteKeyUse(db: Db, id: string): Promise<void> {
  await noteKeyUseStatement(db, { id })
}
