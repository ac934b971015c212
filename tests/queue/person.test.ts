import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { cancel } from '@/lib/queue/cancel'
import { enqueue } from '@/lib/queue/enqueue'
import { fail } from '@/lib/queue/fail'
import { releaseByPerson } from '@/lib/queue/release-by-person'
import { retry } from '@/lib/queue/retry'
import { sweepStale } from '@/lib/queue/sweep-stale'
import { setUpDatabase } from '../support/db'
import {
  ago,
  ahead,
  allRows,
  insertClaimed,
  insertFinished,
  insertWork,
  newOrchestratorId,
  onlyRow,
} from '../support/factories'
import { holdRow, waitUntilBlocked } from '../support/gate'
import { mustClaim, refusalOf } from './holders'

const database = await setUpDatabase()
const { db, sql } = database

const states = {
  queued: () => insertWork(sql),
  scheduled: () => insertWork(sql, { availableAt: ahead('1 hour') }),
  claimed: () => insertClaimed(sql),
  stale: () => insertClaimed(sql, { claimExpiresAt: ago('1 second') }),
  completed: () => insertFinished(sql),
  failed: () => insertFinished(sql, { outcome: 'failed' }),
  cancelled: () => insertFinished(sql, { outcome: 'cancelled' }),
}

const actions = {
  cancel: { act: cancel, from: ['queued', 'scheduled', 'claimed', 'stale'] },
  retry: { act: retry, from: ['failed', 'cancelled'] },
  release: { act: releaseByPerson, from: ['claimed', 'stale'] },
}

describe.each(Object.entries(actions))('a person’s %s', (name, { act, from }) => {
  test.each(Object.entries(states))(
    'of work that is %s is done, or refused with that state and changes nothing',
    async (state, insert) => {
      const { queueId } = await insert()
      const before = await allRows(sql, queueId)
      const refused = await refusalOf(act(db, queueId))
      if (from.includes(state)) {
        expect(refused).toBeUndefined()
        expect(await onlyRow(sql, queueId)).toMatchObject(
          name === 'cancel' ? { outcome: 'cancelled' } : { claimed_at: null },
        )
        return
      }
      expect(refused).toStrictEqual({ code: 'wrong-state', state })
      expect(await allRows(sql, queueId)).toStrictEqual(before)
    },
  )

  test('of unknown work is refused as not found', async () => {
    expect(await refusalOf(act(db, Number.MAX_SAFE_INTEGER))).toStrictEqual({ code: 'not-found' })
  })

  test('ten times at once is done once', async () => {
    const { queueId } = await states[from.includes('failed') ? 'failed' : 'claimed']()
    const answers = await Promise.all(Array.from({ length: 10 }, () => refusalOf(act(db, queueId))))
    expect(answers.filter((refused) => refused === undefined)).toHaveLength(1)
    await onlyRow(sql, queueId)
  })
})

test('cancelled work keeps its token and its log, and notes the attempt that ended', async () => {
  const own = await mustClaim(db, await insertWork(sql), { machineId: 'laptop' })
  await cancel(db, own.queueId)
  expect(await onlyRow(sql, own.queueId)).toMatchObject({
    outcome: 'cancelled',
    claim_token: own.claimToken,
    attempt_log: [{ attempt: 1, machine: 'laptop', how: 'cancelled' }],
  })
  const waiting = await insertWork(sql)
  await cancel(db, waiting.queueId)
  expect(await onlyRow(sql, waiting.queueId)).toMatchObject({ outcome: 'cancelled', attempt_log: [] })
})

test('work that a person released has its attempt back, unless the sweep had ended it already', async () => {
  const [held, swept] = [
    await insertClaimed(sql, { attempts: 2 }),
    await insertClaimed(sql, { attempts: 2, claimExpiresAt: ago('1 second') }),
  ]
  await releaseByPerson(db, held.queueId)
  expect(await onlyRow(sql, held.queueId)).toMatchObject({
    attempts: 1,
    claim_token: null,
    attempt_log: [{ how: 'released' }],
  })
  await sweepStale(db, { batch: 1_000 })
  expect(await refusalOf(releaseByPerson(db, swept.queueId))).toStrictEqual({ code: 'wrong-state', state: 'queued' })
  expect(await onlyRow(sql, swept.queueId)).toMatchObject({ attempts: 2 })
})

describe('retried work', () => {
  test('is due now and has all its attempts before it again, and keeps everything else', async () => {
    const [orchestratorId, enqueueId] = [newOrchestratorId(), randomUUID()]
    const item = {
      payload: { a: 1 },
      enqueueId,
      priority: 7,
      dedupeKey: 'ENG-1',
      delayMs: 0,
      maxAttempts: 2,
      claimTimeoutMs: 5_000,
    }
    const [first] = await enqueue(db, { orchestratorId, items: [item], defaultMaxAttempts: 3 })
    const work = { orchestratorId, queueId: first?.queueId ?? 0 }
    const enqueued = await onlyRow(sql, work.queueId)

    const abandoned = await mustClaim(db, work, { machineId: 'laptop' })
    await sql(
      `UPDATE dispatch_queue SET claim_expires_at = now() - interval '1 second', progress = 10, progress_note = 'x' WHERE id = $1`,
      [work.queueId],
    )
    await sweepStale(db, { batch: 1_000 })
    const failed = await mustClaim(db, work, { machineId: 'desktop' })
    expect(await fail(db, { ...failed, error: 'red' })).toStrictEqual({ outcome: 'failed' })
    await retry(db, work.queueId)

    const retried = await onlyRow(sql, work.queueId)
    const changed = ['attempt_log', 'available_at', 'claimed_by', 'last_error']
    const rest = (row: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(row).filter(([column]) => !changed.includes(column)))
    expect(rest(retried)).toStrictEqual(rest(enqueued))
    expect(retried).toMatchObject({
      last_error: 'red',
      claimed_by: 'desktop',
      attempt_log: [
        { machine: 'laptop', how: 'expired' },
        { machine: 'desktop', how: 'failed' },
      ],
    })
    expect(abandoned.attempts + failed.attempts).toBe(3)
    const due = await sql('SELECT available_at <= now() AS due FROM dispatch_queue WHERE id = $1', [work.queueId])
    expect(due).toStrictEqual([{ due: true }])
  })

  test('fails for good again after as many attempts', async () => {
    const work = await insertFinished(sql, { outcome: 'failed', attempts: 2, maxAttempts: 2 })
    await retry(db, work.queueId)
    const outcomes: string[] = []
    for (let n = 0; n < 2; n += 1) {
      const own = await mustClaim(db, work)
      outcomes.push((await fail(db, { ...own, error: 'red', retryDelayMs: 0 })).outcome)
    }
    expect(outcomes).toStrictEqual(['retrying', 'failed'])
  })

  test('stays where it is while its dedupe key is live again', async () => {
    const { orchestratorId, queueId } = await insertFinished(sql, { outcome: 'failed', dedupeKey: 'ENG-1' })
    const twin = await insertWork(sql, { orchestratorId, dedupeKey: 'ENG-1' })
    const before = await allRows(sql, queueId)
    expect(await refusalOf(retry(db, queueId))).toStrictEqual({ code: 'wrong-state', state: 'failed' })
    expect(await allRows(sql, queueId)).toStrictEqual(before)
    await cancel(db, twin.queueId)
    expect(await refusalOf(retry(db, queueId))).toBeUndefined()
  })
})

test('a cancel that waits for a claim under way still cancels it', async () => {
  const own = await insertClaimed(sql)
  const gate = await holdRow(database, own.queueId)
  const cancelled = refusalOf(cancel(db, own.queueId))
  await waitUntilBlocked(database, 1)
  await gate.run('UPDATE dispatch_queue SET progress = 50 WHERE id = $1', [own.queueId])
  await gate.release()
  expect(await cancelled).toBeUndefined()
  expect(await onlyRow(sql, own.queueId)).toMatchObject({ outcome: 'cancelled', progress: 50 })
})
