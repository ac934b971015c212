import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { nullable, read, statement } from '@/lib/db/statement'
import { QueueError } from '@/lib/queue/errors'

export interface NewItem {
  /** Any JSON value, null included. */
  payload: unknown
  /** The producer's own id (a UUID): the same enqueue again, however late, gives the same work. */
  enqueueId?: string | undefined
  /** Lower runs sooner. */
  priority?: number | undefined
  dedupeKey?: string | undefined
  delayMs?: number | undefined
  maxAttempts?: number | undefined
  /** The lease of each claim of this item, unless the claim brings its own. */
  claimTimeoutMs?: number | undefined
}

export interface EnqueueInput {
  orchestratorId: string
  items: readonly NewItem[]
  defaultMaxAttempts: number
}

export interface EnqueuedItem {
  queueId: number
  /** false: the work was there already, live under the same dedupe key or ever under the same enqueue id. */
  enqueued: boolean
}

/** A key that is taken and freed again between the snapshots of so many rounds is not a race any more. */
const MAX_ROUNDS = 5

const value = sql.placeholder

const asked = {
  items: sql`jsonb_array_elements(${value('items')}::jsonb) WITH ORDINALITY AS list(item, place)`,
  payload: sql`item -> 'payload'`,
  priority: sql`coalesce((item ->> 'priority')::smallint, 0)`,
  availableAt: sql`now() + coalesce((item ->> 'delayMs')::bigint, 0) * interval '1 millisecond'`,
  maxAttempts: sql`coalesce((item ->> 'maxAttempts')::integer, ${value('defaultMaxAttempts')}::integer)`,
  claimTimeoutMs: sql`(item ->> 'claimTimeoutMs')::integer`,
}
const readers = { queueId: nullable(read.id), enqueued: read.boolean }

// Items without keys have nothing to be compared with, neither there nor among each other: half the time.
const enqueueKeylessStatement = statement(
  'enqueue_keyless',
  readers,
  sql`INSERT INTO dispatch_queue (orchestrator_id, payload, priority, available_at, max_attempts, claim_timeout_ms)
      SELECT ${value('orchestratorId')}, ${asked.payload}, ${asked.priority}, ${asked.availableAt}, ${asked.maxAttempts},
             ${asked.claimTimeoutMs}
        FROM ${asked.items} ORDER BY place
   RETURNING id, true`,
)

// Ids are drawn before the insert, so that each answer finds its item. Keys are inserted in one order by everybody, or
// two batches would wait for each other. `existing` reads by this statement's snapshot: what it sees is not inserted even
// if it finishes at this moment. A rival's row that commits after the snapshot is met by ON CONFLICT and answered as
// NULL; the next round sees it.
const enqueueStatement = statement(
  'enqueue',
  readers,
  sql`WITH item AS MATERIALIZED (
        SELECT place, nextval('dispatch_queue_id_seq') AS id, ${asked.payload} AS payload,
               (item ->> 'enqueueId')::uuid AS enqueue_id, ${asked.priority} AS priority,
               item ->> 'dedupeKey' AS dedupe_key, ${asked.availableAt} AS available_at,
               ${asked.maxAttempts} AS max_attempts, ${asked.claimTimeoutMs} AS claim_timeout_ms
          FROM ${asked.items}
      ), existing AS MATERIALIZED (
        SELECT place, coalesce(
                 (SELECT id FROM dispatch_queue AS live
                   WHERE live.orchestrator_id = ${value('orchestratorId')} AND live.enqueue_id = item.enqueue_id),
                 (SELECT min(id) FROM dispatch_history AS finished
                   WHERE finished.orchestrator_id = ${value('orchestratorId')} AND finished.enqueue_id = item.enqueue_id),
                 (SELECT id FROM dispatch_queue AS live
                   WHERE live.orchestrator_id = ${value('orchestratorId')} AND live.dedupe_key = item.dedupe_key)) AS id
          FROM item
         WHERE enqueue_id IS NOT NULL OR dedupe_key IS NOT NULL
      ), inserted AS (
        INSERT INTO dispatch_queue (id, orchestrator_id, payload, enqueue_id, priority, dedupe_key, available_at,
                                    max_attempts, claim_timeout_ms)
        SELECT id, ${value('orchestratorId')}, payload, enqueue_id, priority, dedupe_key, available_at,
               max_attempts, claim_timeout_ms
          FROM item
         WHERE NOT EXISTS (SELECT FROM existing WHERE existing.place = item.place AND existing.id IS NOT NULL)
         ORDER BY dedupe_key NULLS FIRST, enqueue_id NULLS FIRST, place
        ON CONFLICT DO NOTHING
        RETURNING id, enqueue_id, dedupe_key
      )
      SELECT coalesce(own.id, existing.id, twin_id.id, twin_key.id), own.id IS NOT NULL
        FROM item
        LEFT JOIN existing USING (place)
        LEFT JOIN inserted AS own ON own.id = item.id
        LEFT JOIN inserted AS twin_id ON twin_id.enqueue_id = item.enqueue_id
        LEFT JOIN inserted AS twin_key ON twin_key.dedupe_key = item.dedupe_key
       ORDER BY item.place`,
)

/**
 * Puts work into the queue and answers in the caller's order. An item whose dedupe key is live, or whose
 * enqueue id was ever used, makes no second row; the answer names the row that is there.
 */
export async function enqueue(db: Db, input: EnqueueInput): Promise<EnqueuedItem[]> {
  const { orchestratorId, items, defaultMaxAttempts } = input
  const answers: (EnqueuedItem | undefined)[] = items.map(() => undefined)
  let open = items.map((item, place) => ({ item, place }))
  for (let round = 0; round < MAX_ROUNDS && open.length > 0; round += 1) {
    const run = open.some(({ item }) => hasKey(item)) ? enqueueStatement : enqueueKeylessStatement
    const rows = await run(db, {
      orchestratorId,
      defaultMaxAttempts,
      items: JSON.stringify(open.map(({ item }) => item)),
    })
    for (const [index, { place }] of open.entries()) {
      const row = rows[index]
      if (row?.queueId != null) answers[place] = { queueId: row.queueId, enqueued: row.enqueued }
    }
    open = open.filter(({ place }) => answers[place] === undefined)
  }
  const complete = answers.filter((answer) => answer !== undefined)
  if (complete.length < items.length)
    throw new QueueError({ code: 'busy' }, 'The same keys are enqueued by many at once.')
  return complete
}

const hasKey = ({ enqueueId, dedupeKey }: NewItem) => enqueueId !== undefined || dedupeKey !== undefined
