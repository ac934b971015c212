import { expect, test } from 'vitest'
import { type Place, scanForClaims } from '@/lib/queue/claim-next'
import { setUpDatabase } from '../support/db'
import { insertWork } from '../support/factories'
import { countPages } from '../support/statements'
import { DEFAULT_LEASE_MS } from './holders'
import { claimNextOf, insertMany } from './rows'

const database = await setUpDatabase()
const { db, sql } = database
const scan = (orchestratorId: string, limit: number, from?: Place) =>
  scanForClaims(db, { orchestratorId, limit, maxBytes: 1_000_000, defaultLeaseMs: DEFAULT_LEASE_MS }, from)
const idsOf = ({ claims }: { claims: readonly { queueId: number }[] }) => claims.map(({ queueId }) => queueId)

test.each([1, 7])(
  'scans that each begin where the last one ended give all work in claim order, %i at a time',
  async (limit) => {
    const orchestratorId = await insertMany(sql, 60, { priority: '(n * 7) % 5 - 2' })
    const rows = await sql<{ id: number }>(
      'SELECT id FROM dispatch_queue WHERE orchestrator_id = $1 ORDER BY priority, available_at, id',
      [orchestratorId],
    )
    const got: number[] = []
    let place: Place | undefined
    for (let isOver = false; !isOver; ) {
      const found = await scan(orchestratorId, limit, place)
      got.push(...idsOf(found))
      isOver = found.claims.length === 0
      place = found.end
    }
    expect(got).toStrictEqual(rows.map(({ id }) => id))
  },
)

test.each([1, 7])(
  'work before the place is left, down to the microsecond, and found from the beginning, %i at a time',
  async (limit) => {
    const orchestratorId = await insertMany(sql, 1)
    const { end } = await scan(orchestratorId, 1)
    const { queueId } = await insertWork(sql, { orchestratorId })
    await sql(`UPDATE dispatch_queue SET available_at = $2::timestamptz - interval '1 microsecond' WHERE id = $1`, [
      queueId,
      end?.availableAt,
    ])
    expect(idsOf(await scan(orchestratorId, limit, end))).toStrictEqual([])
    expect(idsOf(await scan(orchestratorId, limit))).toStrictEqual([queueId])
  },
)

test('rivals that begin at the same place get all that they asked for, and never the same row', async () => {
  const orchestratorId = await insertMany(sql, 101)
  const { end } = await scan(orchestratorId, 1)
  // 99 of the 100 that are left.
  const found = await Promise.all(Array.from({ length: 50 }, (_, n) => scan(orchestratorId, 1 + (n % 3), end)))
  const ids = found.flatMap(idsOf)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toHaveLength(99)
})

test('while a transaction is open, a scan from the last claim on does not walk over what was claimed', async () => {
  const holder = await database.connect()
  try {
    await holder.query('START TRANSACTION ISOLATION LEVEL REPEATABLE READ')
    await holder.query('SELECT count(*) FROM dispatch_queue')
    const orchestratorId = await insertMany(sql, 11_000)
    await claimNextOf(db, orchestratorId, { limit: 10_000 })
    const full = await countPages(database, () => scan(orchestratorId, 1))
    const { end } = await scan(orchestratorId, 1)
    const hinted = await countPages(database, () => scan(orchestratorId, 1, end))
    expect(hinted * 10).toBeLessThan(full)
  } finally {
    await holder.query('ROLLBACK')
    await holder.end()
  }
})
