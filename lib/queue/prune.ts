import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'

const value = sql.placeholder
// At least a day, whatever the caller says.
const isOld = sql`finished_at < now() - greatest(1, ${value('retentionDays')}::integer) * interval '1 day'`

// The age stands outside the sub-select too: a row that a retry took out and that finished anew meanwhile is kept.
const pruneStatement = statement(
  'prune',
  { pruned: read.number },
  sql`WITH old AS (
        DELETE FROM dispatch_history
         WHERE id = ANY (ARRAY(SELECT id FROM dispatch_history WHERE ${isOld} ORDER BY finished_at LIMIT ${value('batch')}))
           AND ${isOld}
        RETURNING id
      )
      SELECT count(*) FROM old`,
)

/** Deletes finished work older than `retentionDays` (1 at least), at most `batch` rows; live work is never touched. */
export async function prune(db: Db, input: { retentionDays: number; batch: number }): Promise<number> {
  const [row] = await pruneStatement(db, input)
  return row?.pruned ?? 0
}
