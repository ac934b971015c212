/** Three servers, each broken in one statement on purpose: the fleet and the checker have to notice. */
import { sql as text } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { read, statement } from '@/lib/db/statement'
import type { Fault } from '@/lib/prove/faults'
import { runFleet } from '@/lib/prove/fleet'
import type * as Claiming from '@/lib/queue/claim'
import type * as Completing from '@/lib/queue/complete'
import type * as Sweeping from '@/lib/queue/sweep-stale'
import { ADMIN_KEY, setUpInstance } from '../http/instance'
import { fetchHere } from '../http/routes'

const server = vi.hoisted((): { fault: 'claim' | 'complete' | 'sweep' | undefined } => ({ fault: undefined }))

vi.mock('@/lib/queue/claim', async (original) => {
  const real = await original<typeof Claiming>()
  const value = text.placeholder
  // The row stays locked for a moment before the commit, as where the disk is slower than that of a test.
  const guardedInSubselect = statement(
    'broken_claim',
    { ...real.claimReaders, slept: read.text },
    text`UPDATE dispatch_queue
            SET claimed_at = now(), claimed_by = ${value('machineId')}, claim_token = ${value('claimToken')}::uuid,
                attempts = attempts + 1, lease_ms = ${value('leaseMs')}::integer,
                claim_expires_at = now() + ${value('leaseMs')}::integer * interval '1 millisecond'
          WHERE id = (SELECT id FROM dispatch_queue
                       WHERE id = ${value('queueId')} AND orchestrator_id = ${value('orchestratorId')}
                         AND available_at <= now() AND claimed_at IS NULL)
      RETURNING ${real.claimColumns}, pg_sleep(0.02)::text`,
  )
  const claim: typeof real.claim = async (db, input) =>
    server.fault === 'claim' ? ((await guardedInSubselect(db, { ...input }))[0] ?? null) : real.claim(db, input)
  return { ...real, claim }
})

vi.mock('@/lib/queue/complete', async (original) => {
  const real = await original<typeof Completing>()
  const complete: typeof real.complete = async (db, input) => {
    if (server.fault !== 'complete') return real.complete(db, input)
    // Whoever holds it now: the caller's token is replaced by the row's own.
    const [row] = await database.sql<{ token: string }>(
      'SELECT claim_token AS token FROM dispatch_queue WHERE id = $1 AND claimed_at IS NOT NULL',
      [input.queueId],
    )
    return real.complete(db, { ...input, claimToken: row?.token ?? input.claimToken })
  }
  return { ...real, complete }
})

vi.mock('@/lib/queue/sweep-stale', async (original) => {
  const real = await original<typeof Sweeping>()
  const sweepStale: typeof real.sweepStale = async (db, options) => {
    if (server.fault !== 'sweep') return real.sweepStale(db, options)
    const rows = await database.sql(
      `UPDATE dispatch_queue SET claimed_at = NULL, claim_expires_at = NULL WHERE claimed_at IS NOT NULL RETURNING id`,
    )
    return { released: rows.length, failed: 0, unsweepable: 0 }
  }
  return { ...real, sweepStale }
})

const { database } = await setUpInstance({ environment: { DISPATCH_SWEEP_INTERVAL_MS: '300' } })

beforeEach(() => {
  server.fault = undefined
})
afterEach(() => {
  server.fault = undefined
})

/** Two claims that meet in the database are a matter of luck; so many rounds take less than a minute. */
const ROUNDS = 4

const rulesBroken = async (faults: Fault[], items: number) => {
  const { violations } = await runFleet({
    url: 'http://queue.test',
    key: ADMIN_KEY,
    machines: 40,
    items,
    limitMs: 15_000,
    leaseMs: 1_500,
    faults: new Set(faults),
    fetch: fetchHere,
  })
  return new Set(violations.map(({ rule }) => rule))
}

test('a server that is not broken is not accused', async () => {
  expect(await rulesBroken(['deaths', 'pauses', 'doubled-requests'], 120)).toStrictEqual(new Set())
})

test.each([
  ['a guard that stands in the sub-select only', 'claim', 'two live leases', 80],
  ['a completion that does not look at the token', 'complete', 'overtaken token', 400],
  ['a sweep that does not look at the expiry', 'sweep', 'two live leases', 80],
] as const)('%s is found out', async (_what, fault, rule, items) => {
  server.fault = fault
  const broken = new Set<string>()
  for (let round = 0; round < ROUNDS && !broken.has(rule); round += 1) {
    for (const each of await rulesBroken(['deaths', 'pauses'], items)) broken.add(each)
  }
  expect(broken).toContain(rule)
})
