import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'
import { QueueError } from '@/lib/queue/errors'
import { liveState } from '@/lib/queue/state'

const findStateStatement = statement(
  'find_state',
  { state: read.text },
  sql`SELECT ${liveState} FROM dispatch_queue WHERE id = ${sql.placeholder('queueId')}
      UNION ALL
      SELECT outcome FROM dispatch_history WHERE id = ${sql.placeholder('queueId')}`,
)

/** The refusal of a person's action that matched no row: the work is in another state, or there is none. It only reads. */
export async function refuseAction(db: Db, queueId: number, action: string): Promise<QueueError> {
  const [row] = await findStateStatement(db, { queueId })
  if (row === undefined)
    return new QueueError({ code: 'not-found' }, `There is no work ${queueId}; it may have been pruned.`)
  return new QueueError(
    { code: 'wrong-state', state: row.state },
    `Work ${queueId} is ${row.state}, and can not be ${action} from there. Look at it again before you act.`,
  )
}
