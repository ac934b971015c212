import { describe, expect, test } from 'vitest'
import { setUpDatabase } from '../support/db'
import { allRows, insertWork, newOrchestratorId } from '../support/factories'
import { hold, holdRow, waitUntilBlocked } from '../support/gate'
import { setUpLevels, unresolvedDeadlocks } from './claims'
import { completeAll, holderCalls, mustClaim, type Own, reasonOf } from './holders'

const deadlocking = await setUpDatabase({ settings: unresolvedDeadlocks })

describe.each([{ level: 'a level that resolves no deadlock', at: deadlocking }, ...(await setUpLevels())])(
  'at $level',
  ({ at }) => {
    async function claimThree(): Promise<[Own, Own, Own]> {
      const orchestratorId = newOrchestratorId()
      const claim = async () => mustClaim(at.db, await insertWork(at.sql, { orchestratorId }), { machineId: 'laptop' })
      return [await claim(), await claim(), await claim()]
    }
    const outcomes = async (batch: ReturnType<typeof completeAll>) => (await batch).map(({ outcome }) => outcome)

    test('two batches of the same claims in opposite orders wait in line, and both complete them all', async () => {
      const claims = await claimThree()
      const gate = await holdRow(at, claims[1].queueId)
      const both = [outcomes(completeAll(at.db, claims)), outcomes(completeAll(at.db, claims.toReversed()))]
      await waitUntilBlocked(at, 2)
      await gate.release()
      expect((await Promise.all(both)).flat()).toStrictEqual(Array(6).fill('completed'))
    })

    test('a batch and a single complete of one of its claims at one instant both succeed, with one record', async () => {
      const claims = await claimThree()
      const [, own] = claims
      const gate = await holdRow(at, own.queueId)
      const both = [outcomes(completeAll(at.db, claims)), reasonOf(holderCalls.complete(at.db, own))] as const
      await waitUntilBlocked(at, 2)
      await gate.release()
      expect(await Promise.all(both)).toStrictEqual([Array(3).fill('completed'), 'accepted'])
      expect(await allRows(at.sql, own.queueId)).toMatchObject({ queue: [], history: [{ outcome: 'completed' }] })
    })

    test('a batch that waits for its own heartbeat completes that claim too', async () => {
      const claims = await claimThree()
      const gate = await holdRow(at, claims[2].queueId)
      const beat = reasonOf(holderCalls.heartbeat(at.db, claims[2]))
      await waitUntilBlocked(at, 1)
      const batch = outcomes(completeAll(at.db, claims))
      await waitUntilBlocked(at, 2)
      await gate.release()
      expect(await batch).toStrictEqual(Array(3).fill('completed'))
      expect(['accepted', 'completed']).toContain(await beat)
    })

    test('a claim that another machine takes while the batch waits for it is lost, and only that one', async () => {
      const claims = await claimThree()
      const [, own] = claims
      const gate = await hold(
        at,
        `UPDATE dispatch_queue SET claimed_by = 'desktop', claim_token = gen_random_uuid() WHERE id = $1`,
        [own.queueId],
      )
      const batch = completeAll(at.db, claims)
      await waitUntilBlocked(at, 1)
      await gate.release()
      expect(await batch).toMatchObject([
        { outcome: 'completed' },
        { queueId: own.queueId, outcome: 'lost', reason: 'reclaimed' },
        { outcome: 'completed' },
      ])
      expect(await allRows(at.sql, own.queueId)).toMatchObject({ queue: [{ claimed_by: 'desktop' }], history: [] })
    })
  },
)
