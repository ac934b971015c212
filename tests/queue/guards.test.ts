/** Each guard of a statement, taken away on purpose: the check that protects it has to notice. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type SQL, sql as text } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import type { Db } from '@/lib/db/client'
import { read, statement } from '@/lib/db/statement'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase, type TestDatabase } from '../support/db'
import { allRows, expireClaim, insertWork, onlyRow } from '../support/factories'
import { hold, holdRow, waitUntilBlocked } from '../support/gate'
import { unresolvedDeadlocks } from './claims'
import { claimRow, completeAll, holderCalls, mustClaim, type Own, reasonOf } from './holders'
import { claimNextOf, insertMany } from './rows'

const database = await setUpDatabase()
const { db, sql } = database
const nestedLoops = await setUpDatabase({
  settings: Object.fromEntries(
    ['hashjoin', 'mergejoin', 'hashagg', 'material', 'sort'].map((method) => [`enable_${method}`, 'off']),
  ),
})

const deadlocking = await setUpDatabase({ settings: unresolvedDeadlocks })

const value = text.placeholder
const mutant = (name: string, query: SQL) => {
  const run = statement(`mutant_${name}`, { queueId: read.id }, query)
  return async (at: Db, values: object) => (await run(at, { ...values })).length
}
const taking = text`UPDATE dispatch_queue SET claimed_at = now(), claim_token = gen_random_uuid(), attempts = attempts + 1,
  lease_ms = 60000, claim_expires_at = now() + interval '1 minute'`
const claimable = text`orchestrator_id = ${value('orchestratorId')} AND claimed_at IS NULL`

/** Each call of a holder, and for each the write at its heart without its guard. */
const calls: [string, (at: Db, own: Own) => Promise<unknown>][] = [
  ...Object.entries(holderCalls),
  ['batch', (at, own) => completeAll(at, [own])],
]
const givingBack = text`UPDATE dispatch_queue SET claimed_at = NULL, claim_token = NULL, claim_expires_at = NULL, lease_ms = NULL`
const mutantWrites: [string, SQL][] = [
  ['heartbeat', text`UPDATE dispatch_queue SET claim_expires_at = now() + interval '1 hour'`],
  ['complete', text`DELETE FROM dispatch_queue`],
  ['fail', text`${givingBack}, available_at = now() + interval '10 seconds'`],
  ['release', text`${givingBack}, attempts = attempts - 1`],
]

/** How many of five that wait for a row's lock get it. */
async function winnersAmongFive(claim: (own: { orchestratorId: string; queueId: number }) => Promise<boolean>) {
  const work = await insertWork(sql)
  const gate = await holdRow(database, work.queueId)
  const claims = Array.from({ length: 5 }, () => claim(work))
  await waitUntilBlocked(database, 5)
  await gate.release()
  return (await Promise.all(claims)).filter(Boolean).length
}

describe('of rivals for one row one wins', () => {
  test('by the guard on the UPDATE itself', async () => {
    expect(await winnersAmongFive(async (work) => (await claimRow(db, work)) !== null)).toBe(1)
  })

  test.each([
    [
      'a guard that stands only in a sub-select',
      text`id = (SELECT id FROM dispatch_queue WHERE id = ${value('queueId')} AND ${claimable})`,
    ],
    ['no guard', text`id = ${value('queueId')}`],
  ])('which %s does not give', async (name, condition) => {
    const claim = mutant(name, text`${taking} WHERE ${condition} RETURNING id`)
    expect(await winnersAmongFive(async (work) => (await claim(db, work)) > 0)).toBe(5)
  })

  test('which taking the next one without a lock does not give', async () => {
    const next = mutant(
      'next',
      text`${taking} WHERE id = (SELECT id FROM dispatch_queue WHERE ${claimable} LIMIT 1) RETURNING id`,
    )
    expect(await winnersAmongFive(async (work) => (await next(db, work)) > 0)).toBe(5)
  })
})

describe('an open claim is handed out again to the machine that has it, and to no other', () => {
  async function othersGet(claim: (own: Own) => Promise<boolean>): Promise<boolean> {
    return claim(await mustClaim(db, await insertWork(sql), { machineId: 'laptop', claimToken: randomUUID() }))
  }

  test('by the machine beside the token', async () => {
    const claim = async (own: Own) =>
      (await claimRow(db, own, { machineId: 'desktop', claimToken: own.claimToken })) !== null
    expect(await othersGet(claim)).toBe(false)
  })

  test('which the token alone does not give', async () => {
    const claim = mutant(
      'token_alone',
      text`${taking} WHERE id = ${value('queueId')} AND (claimed_at IS NULL OR claim_token = ${value('claimToken')}::uuid) RETURNING id`,
    )
    expect(await othersGet(async (own) => (await claim(db, own)) > 0)).toBe(true)
  })
})

describe('no more than the limit are claimed', () => {
  const claimedOf = async (at: TestDatabase, claim: (orchestratorId: string) => Promise<unknown>) => {
    const orchestratorId = await insertMany(at.sql, 1_000)
    await at.sql('ANALYZE dispatch_queue')
    await claim(orchestratorId)
    const [row] = await at.sql<{ n: number }>(
      'SELECT count(*)::int AS n FROM dispatch_queue WHERE orchestrator_id = $1 AND claimed_at IS NOT NULL',
      [orchestratorId],
    )
    return row?.n
  }

  test('by a list that is made once', async () => {
    expect(
      await claimedOf(nestedLoops, (orchestratorId) => claimNextOf(nestedLoops.db, orchestratorId, { limit: 3 })),
    ).toBe(3)
  })

  test('which a plain sub-select does not give', async () => {
    const many = mutant(
      'many',
      text`${taking} WHERE id IN (SELECT id FROM dispatch_queue WHERE ${claimable} LIMIT 3 FOR UPDATE SKIP LOCKED) RETURNING id`,
    )
    expect(await claimedOf(nestedLoops, (orchestratorId) => many(nestedLoops.db, { orchestratorId }))).toBeGreaterThan(
      3,
    )
  })
})

describe('a machine that lost its claim changes nothing', () => {
  async function lateCall(call: (own: Own) => Promise<unknown>): Promise<boolean> {
    const own = await mustClaim(db, await insertWork(sql), { machineId: 'laptop' })
    await expireClaim(sql, own.queueId)
    await sweepStale(db, { batch: 1_000 })
    await mustClaim(db, own, { machineId: 'desktop' })
    const before = await onlyRow(sql, own.queueId)
    await call(own)
    const rows = await sql('SELECT to_jsonb(q) = to_jsonb(q) AS same, q.* FROM dispatch_queue q WHERE id = $1', [
      own.queueId,
    ])
    return JSON.stringify(rows[0]) === JSON.stringify({ same: true, ...before })
  }

  test.each(calls)('by the token in the WHERE of %s', async (_name, call) => {
    expect(await lateCall((own) => reasonOf(call(db, own)))).toBe(true)
  })

  test.each(mutantWrites)('which a %s by the id alone does not give', async (name, write) => {
    const call = mutant(`late_${name}`, text`${write} WHERE id = ${value('queueId')} RETURNING id`)
    expect(await lateCall((own) => call(db, own))).toBe(false)
  })
})

describe('a machine that loses its claim while its call waits for the row changes nothing', () => {
  async function overtakenCall(call: (own: Own) => Promise<unknown>): Promise<boolean> {
    const own = await mustClaim(db, await insertWork(sql), { machineId: 'laptop' })
    const rivals = { ...(await onlyRow(sql, own.queueId)), claimed_by: 'desktop', claim_token: randomUUID() }
    const rival = 'UPDATE dispatch_queue SET claimed_by = $2, claim_token = $3 WHERE id = $1'
    const gate = await hold(database, rival, [own.queueId, rivals.claimed_by, rivals.claim_token])
    const answer = call(own)
    await waitUntilBlocked(database, 1)
    await gate.release()
    await answer
    return isDeepStrictEqual(await allRows(sql, own.queueId), { queue: [rivals], history: [] })
  }

  test.each(calls)('by the token in the WHERE of the write itself: %s', async (_name, call) => {
    expect(await overtakenCall((own) => reasonOf(call(db, own)))).toBe(true)
  })

  test.each(mutantWrites)('which a %s whose token stands only in a sub-select does not give', async (name, write) => {
    const held = text`SELECT id FROM dispatch_queue WHERE id = ${value('queueId')} AND claim_token = ${value('claimToken')}::uuid`
    const call = mutant(`overtaken_${name}`, text`${write} WHERE id = ANY (ARRAY(${held})) RETURNING id`)
    expect(await overtakenCall((own) => call(db, own))).toBe(false)
  })
})

describe('a completion that races its own heartbeat is not lost', () => {
  async function completesBehindHeartbeat(complete: (own: Own) => Promise<boolean>): Promise<boolean> {
    const own = await mustClaim(db, await insertWork(sql))
    const gate = await holdRow(database, own.queueId)
    const completed = complete(own)
    await Promise.race([completed, waitUntilBlocked(database, 1)])
    await gate.release()
    return completed
  }

  test('by waiting for the row', async () => {
    const complete = async (own: Own) => (await reasonOf(holderCalls.complete(db, own))) === 'accepted'
    expect(await completesBehindHeartbeat(complete)).toBe(true)
  })

  test('which SKIP LOCKED does not give', async () => {
    const complete = mutant(
      'skip_locked',
      text`DELETE FROM dispatch_queue WHERE id = (SELECT id FROM dispatch_queue WHERE id = ${value('queueId')}
             AND claim_token = ${value('claimToken')}::uuid FOR UPDATE SKIP LOCKED) RETURNING id`,
    )
    expect(await completesBehindHeartbeat(async (own) => (await complete(db, own)) > 0)).toBe(false)
  })
})

describe('batches of the same claims in opposite orders wait in line', () => {
  type Batch = (claims: readonly Own[]) => Promise<unknown>

  async function bothEnd(batch: Batch): Promise<boolean> {
    const { sql, db } = deadlocking
    const orchestratorId = await insertMany(sql, 3)
    const claims = await claimNextOf(db, orchestratorId, { limit: 3 })
    const gate = await holdRow(deadlocking, claims[1]?.queueId ?? 0)
    const both = Promise.allSettled([batch(claims), batch(claims.toReversed())])
    await waitUntilBlocked(deadlocking, 2)
    await gate.release()
    return (await both).every(({ status }) => status === 'fulfilled')
  }

  test('by locking in the order of ids', async () => {
    expect(await bothEnd((claims) => completeAll(deadlocking.db, claims))).toBe(true)
  })

  test('which locking in the order asked does not give', async () => {
    const batch = mutant(
      'order_asked',
      text`WITH held AS MATERIALIZED (
             SELECT queue.id FROM dispatch_queue AS queue
               JOIN jsonb_array_elements(${value('ids')}::jsonb) WITH ORDINALITY AS asked (id, place) ON queue.id = asked.id::bigint
              ORDER BY place FOR UPDATE OF queue
           ) DELETE FROM dispatch_queue WHERE id = ANY (ARRAY(SELECT id FROM held)) RETURNING id`,
    )
    const idsOf = (claims: readonly Own[]) => JSON.stringify(claims.map(({ queueId }) => queueId))
    expect(await bothEnd((claims) => batch(deadlocking.db, { ids: idsOf(claims) }))).toBe(false)
  })
})

describe('a sweep frees no claim that was renewed as it came', () => {
  async function staysClaimed(sweep: () => Promise<unknown>): Promise<boolean> {
    await sql('DELETE FROM dispatch_queue')
    const own = await mustClaim(db, await insertWork(sql))
    await expireClaim(sql, own.queueId)
    const gate = await holdRow(database, own.queueId)
    await gate.run(`UPDATE dispatch_queue SET claim_expires_at = now() + interval '1 minute' WHERE id = $1`, [
      own.queueId,
    ])
    const swept = sweep()
    await Promise.race([swept, waitUntilBlocked(database, 1)])
    await gate.release()
    await swept
    return (await onlyRow(sql, own.queueId)).claimed_at !== null
  }

  test('by passing over what is locked, and looking again', async () => {
    expect(await staysClaimed(() => sweepStale(db, { batch: 10 }))).toBe(true)
  })

  test('which a list of ids made beforehand does not give', async () => {
    const sweep = mutant(
      'sweep',
      text`UPDATE dispatch_queue SET claimed_at = NULL, claim_expires_at = NULL
            WHERE id = ANY (ARRAY(SELECT id FROM dispatch_queue WHERE claim_expires_at < now())) RETURNING id`,
    )
    expect(await staysClaimed(() => sweep(db, {}))).toBe(false)
  })
})
