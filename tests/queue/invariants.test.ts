import { randomUUID } from 'node:crypto'
import { PgDialect } from 'drizzle-orm/pg-core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cancel } from '@/lib/queue/cancel'
import { enqueue } from '@/lib/queue/enqueue'
import { fail } from '@/lib/queue/fail'
import { releaseByPerson } from '@/lib/queue/release-by-person'
import { retry } from '@/lib/queue/retry'
import { liveStateCondition, liveStates } from '@/lib/queue/state'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import { newOrchestratorId } from '../support/factories'
import { claimRow, completeAll, holderCalls, type Own, refusalOf } from './holders'
import { claimNextOf } from './rows'

const { db, sql } = await setUpDatabase()

const kinds = [
  'enqueue',
  'claim',
  'claimNext',
  'heartbeat',
  'complete',
  'completeBatch',
  'fail',
  'release',
  'cancel',
  'retry',
  'releaseByPerson',
  'expire',
  'due',
  'sweep',
] as const
const step = fc.record({ kind: fc.constantFrom(...kinds), pick: fc.nat(1_000) })
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** One orchestrator's work, what machines have been told, and how many attempts each piece of work must have had. */
interface World {
  orchestratorId: string
  ids: number[]
  claims: Own[]
  attempts: Map<number, number>
}

const pickFrom = <T>(list: readonly T[], pick: number): T | undefined => list[pick % Math.max(1, list.length)]
const count = (world: World, queueId: number, change: number) =>
  world.attempts.set(queueId, (world.attempts.get(queueId) ?? 0) + change)

async function run(world: World, { kind, pick }: Step): Promise<void> {
  const { orchestratorId } = world
  const queueId = pickFrom(world.ids, pick) ?? 1
  const own = pickFrom(world.claims, pick) ?? { orchestratorId, queueId, claimToken: randomUUID() }
  switch (kind) {
    case 'enqueue': {
      const item = {
        payload: pick,
        maxAttempts: (pick % 3) + 1,
        dedupeKey: `${pick % 5}`,
        ...(pick % 4 === 0 && { delayMs: 3_600_000 }),
      }
      const [answer] = await enqueue(db, { orchestratorId, items: [item], defaultMaxAttempts: 3 })
      if (answer?.enqueued) world.ids.push(answer.queueId)
      return
    }
    case 'claim': {
      const claimed = await claimRow(db, { orchestratorId, queueId })
      if (claimed !== null) remember(world, [{ orchestratorId, ...claimed }])
      return
    }
    case 'claimNext':
      return remember(world, await claimNextOf(db, orchestratorId, { limit: (pick % 3) + 1 }))
    case 'release': {
      const [row] = await sql('SELECT claimed_at FROM dispatch_queue WHERE id = $1', [own.queueId])
      const isReleased = (await refusalOf(holderCalls.release(db, own))) === undefined
      if (isReleased && row?.claimed_at !== null) count(world, own.queueId, -1)
      return
    }
    case 'releaseByPerson':
      if ((await refusalOf(releaseByPerson(db, queueId))) === undefined) count(world, queueId, -1)
      return
    case 'retry':
      if ((await refusalOf(retry(db, queueId))) === undefined) world.attempts.set(queueId, 0)
      return
    case 'fail':
      await refusalOf(fail(db, { ...own, error: 'red', retryDelayMs: 0, retryable: pick % 5 !== 0 }))
      return
    case 'completeBatch':
      await completeAll(db, [own])
      return
    case 'heartbeat':
    case 'complete':
      await refusalOf(holderCalls[kind](db, own))
      return
    case 'cancel':
      await refusalOf(cancel(db, queueId))
      return
    case 'expire':
      await sql(
        `UPDATE dispatch_queue SET claim_expires_at = now() - interval '1 second' WHERE id = $1 AND claimed_at IS NOT NULL`,
        [queueId],
      )
      return
    case 'due':
      await sql('UPDATE dispatch_queue SET available_at = now() WHERE id = $1 AND claimed_at IS NULL', [queueId])
      return
    case 'sweep':
      await sweepStale(db, { batch: 5 })
      return
    default:
      kind satisfies never
  }
}

function remember(world: World, claims: Own[]): void {
  for (const claimed of claims) count(world, claimed.queueId, 1)
  world.claims.push(...claims)
}

const text = (state: (typeof liveStates)[number]) => new PgDialect().sqlToQuery(liveStateCondition[state]).sql
const statesOf = `
  SELECT id, attempts, (${liveStates.map((state) => `(${text(state)})::int`).join(' + ')}) AS states FROM dispatch_queue WHERE orchestrator_id = $1
  UNION ALL
  SELECT id, attempts, (outcome IN ('completed', 'failed', 'cancelled'))::int FROM dispatch_history WHERE orchestrator_id = $1
  ORDER BY id`

test('whatever happens in whatever order: every piece of work is in exactly one state, and its attempts are its claims less its releases', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (steps) => {
      const world: World = { orchestratorId: newOrchestratorId(), ids: [], claims: [], attempts: new Map() }
      for (const each of steps) {
        await run(world, each)
        const rows = await sql(statesOf, [world.orchestratorId])
        const expected = world.ids.map((id) => ({ id, attempts: world.attempts.get(id) ?? 0, states: 1 }))
        expect(rows).toStrictEqual(expected.sort((a, b) => a.id - b.id))
      }
    }),
    { numRuns: 25 },
  )
})
