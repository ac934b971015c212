import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'
import { refuseAction } from '@/lib/queue/refuse-action'
import { givenUp } from '@/lib/queue/release'

const releaseByPersonStatement = statement(
  'release_by_person',
  { queueId: read.id },
  sql`UPDATE dispatch_queue SET ${givenUp}
       WHERE id = ${sql.placeholder('queueId')} AND claimed_at IS NOT NULL
   RETURNING id`,
)

/**
 * Takes claimed work away from its holder and puts it back for anyone; the attempt does not count. The holder learns of
 * it at its next call, which is refused with reason `released` or `reclaimed`.
 *
 * @throws {QueueError} wrong-state for work that nobody holds, not-found for unknown work
 */
export async function releaseByPerson(db: Db, queueId: number): Promise<{ outcome: 'released' }> {
  const [released] = await releaseByPersonStatement(db, { queueId })
  if (released === undefined) throw await refuseAction(db, queueId, 'released')
  return { outcome: 'released' }
}
