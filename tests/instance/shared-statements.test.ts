import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { claimNextShared, completeShared } from '@/lib/instance/shared-statements'
import type { ClaimNextInput } from '@/lib/queue/claim-next'
import { mustClaim, type Own, reasonOf } from '../queue/holders'
import { insertMany } from '../queue/rows'
import { setUpDatabase } from '../support/db'
import { allRows, insertWork, newOrchestratorId, onlyRow } from '../support/factories'
import { holdRow, waitUntilBlocked } from '../support/gate'
import { recordStatements } from '../support/statements'

const database = await setUpDatabase()
const { db, sql } = database

const claimOf = async (orchestratorId: string, more: Partial<ClaimNextInput> = {}) => {
  const input = { orchestratorId, limit: 1, maxBytes: 1_000_000, defaultLeaseMs: 60_000, ...more }
  return claimNextShared(db, input)
}
const machines = (count: number) => Array.from({ length: count }, (_, n) => `machine-${n}`)

describe('machines that ask this instance for one piece of work each at the same time', () => {
  test('share one statement, and each gets work of its own, whoever asked first the first in claim order', async () => {
    const orchestratorId = await insertMany(sql, 40, { priority: '(n * 7) % 5 - 2' })
    const order = await sql<{ id: number }>(
      'SELECT id FROM dispatch_queue WHERE orchestrator_id = $1 ORDER BY priority, available_at, id LIMIT 30',
      [orchestratorId],
    )
    const { result, statements } = await recordStatements(database, () =>
      Promise.all(machines(30).map((machineId) => claimOf(orchestratorId, { machineId }))),
    )
    expect(statements).toHaveLength(1)
    expect(result.flat().map(({ queueId }) => queueId)).toStrictEqual(order.map(({ id }) => id))
    for (const [n, [claim]] of result.entries()) {
      expect(await onlyRow(sql, claim?.queueId ?? 0)).toMatchObject({
        claimed_by: `machine-${n}`,
        claim_token: claim?.claimToken,
        attempts: 1,
      })
    }
  })

  test('get the lease that they asked for, else the row’s, else the server’s', async () => {
    const orchestratorId = newOrchestratorId()
    for (const claimTimeoutMs of [null, 20_000, 30_000]) await insertWork(sql, { orchestratorId, claimTimeoutMs })
    const claims = await Promise.all([
      claimOf(orchestratorId),
      claimOf(orchestratorId),
      claimOf(orchestratorId, { leaseMs: 10_000 }),
    ])
    expect(claims.flat().map(({ leaseMs }) => leaseMs)).toStrictEqual([60_000, 20_000, 10_000])
    for (const { claimedAt, claimExpiresAt, leaseMs } of claims.flat())
      expect(Date.parse(claimExpiresAt) - Date.parse(claimedAt)).toBe(leaseMs)
  })

  test('get nothing when there is too little for all, and no row is claimed twice or for nobody', async () => {
    const orchestratorId = await insertMany(sql, 3)
    const claims = await Promise.all(machines(10).map((machineId) => claimOf(orchestratorId, { machineId })))
    expect(claims.map(({ length }) => length).toSorted()).toStrictEqual([0, 0, 0, 0, 0, 0, 0, 1, 1, 1])
    const held = await sql('SELECT id FROM dispatch_queue WHERE orchestrator_id = $1 AND attempts = 1', [
      orchestratorId,
    ])
    expect(held).toHaveLength(3)
  })

  test('are all served when their payloads together are more than one answer may hold', async () => {
    const orchestratorId = await insertMany(sql, 5)
    const claims = await Promise.all(
      machines(5).map((machineId) => claimOf(orchestratorId, { machineId, maxBytes: 1 })),
    )
    expect(claims.map(({ length }) => length)).toStrictEqual([1, 1, 1, 1, 1])
  })

  test('never get another orchestrator’s work', async () => {
    const [acme, globex] = [await insertMany(sql, 5), await insertMany(sql, 5)]
    const claims = await Promise.all([acme, globex, acme, globex].map((id) => claimOf(id)))
    for (const [n, [claim]] of claims.entries())
      expect(await onlyRow(sql, claim?.queueId ?? 0)).toMatchObject({ orchestrator_id: [acme, globex][n % 2] })
  })

  test('do not wait for rows that are locked', async () => {
    const orchestratorId = newOrchestratorId()
    const rows = [await insertWork(sql, { orchestratorId }), await insertWork(sql, { orchestratorId })]
    await holdRow(database, rows[0]?.queueId ?? 0)
    const claims = await Promise.all([claimOf(orchestratorId), claimOf(orchestratorId)])
    expect(claims.flat().map(({ queueId }) => queueId)).toStrictEqual([rows[1]?.queueId])
  })
})

describe('holders that complete through this instance at the same time', () => {
  async function claims(count: number): Promise<Own[]> {
    const owns: Own[] = []
    for (let n = 0; n < count; n += 1) owns.push(await mustClaim(db, await insertWork(sql), { machineId: 'laptop' }))
    return owns
  }
  const outcome = (own: Own, result?: unknown) => reasonOf(completeShared(db, { ...own, result }))

  test('share one statement, whatever their orchestrators, and each result is kept with its work', async () => {
    const owns = await claims(20)
    const results = [null, false, 0, 'ß', { a: [1] }, undefined]
    const { result, statements } = await recordStatements(database, () =>
      Promise.all(owns.map((own, n) => outcome(own, results[n % results.length]))),
    )
    expect(statements).toHaveLength(1)
    expect(result).toStrictEqual(Array(20).fill('accepted'))
    for (const [n, own] of owns.entries()) {
      const { queue, history } = await allRows(sql, own.queueId)
      expect(queue).toStrictEqual([])
      expect(history).toMatchObject([{ outcome: 'completed', result: results[n % results.length] ?? null }])
    }
  })

  test('are answered each for itself: a lost claim, an unknown one and a repeat hold back nobody', async () => {
    const [first, second, third, fourth] = await claims(4)
    if (!first || !second || !third || !fourth) throw new Error('There are no four claims.')
    const answers = await Promise.all([
      outcome(first),
      outcome({ ...second, claimToken: randomUUID() }),
      outcome({ ...third, orchestratorId: newOrchestratorId() }),
      outcome({ ...fourth, queueId: 2 ** 52 }),
      outcome(first),
      outcome({ ...first, claimToken: randomUUID() }),
      outcome({ ...fourth, claimToken: fourth.claimToken.toUpperCase() }),
    ])
    expect(answers).toStrictEqual(['accepted', 'reclaimed', 'unknown', 'unknown', 'accepted', 'completed', 'accepted'])
    for (const own of [second, third]) expect((await allRows(sql, own.queueId)).history).toStrictEqual([])
  })

  test('do not wait for one whose row is locked, which is completed when the lock is gone', async () => {
    const [first, locked, last] = await claims(3)
    if (!first || !locked || !last) throw new Error('There are no three claims.')
    const gate = await holdRow(database, locked.queueId)
    const waiting = outcome(locked)
    expect(await Promise.all([outcome(first), outcome(last)])).toStrictEqual(['accepted', 'accepted'])
    await waitUntilBlocked(database, 1)
    await gate.release()
    expect(await waiting).toBe('accepted')
  })
})
