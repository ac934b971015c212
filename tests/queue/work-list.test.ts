import { describe, expect, test } from 'vitest'
import { listWork } from '@/lib/queue/list-work'
import { overview } from '@/lib/queue/overview'
import { showWork } from '@/lib/queue/show-work'
import { finalStates, liveStates, type WorkState } from '@/lib/queue/state'
import { setUpDatabase } from '../support/db'
import {
  ago,
  ahead,
  type Inserted,
  insertClaimed,
  insertFinished,
  insertWork,
  newOrchestratorId,
} from '../support/factories'
import { refusalOf } from './holders'

const { db, sql } = await setUpDatabase()

const insertIn: Record<WorkState, (orchestratorId: string) => Promise<Inserted>> = {
  queued: (orchestratorId) => insertWork(sql, { orchestratorId }),
  scheduled: (orchestratorId) => insertWork(sql, { orchestratorId, availableAt: ahead('1 hour') }),
  claimed: (orchestratorId) => insertClaimed(sql, { orchestratorId, claimedBy: 'laptop' }),
  stale: (orchestratorId) =>
    insertClaimed(sql, { orchestratorId, claimedBy: 'desktop', claimExpiresAt: ago('1 second') }),
  completed: (orchestratorId) => insertFinished(sql, { orchestratorId }),
  failed: (orchestratorId) => insertFinished(sql, { orchestratorId, outcome: 'failed' }),
  cancelled: (orchestratorId) => insertFinished(sql, { orchestratorId, outcome: 'cancelled' }),
}
const states = [...liveStates, ...finalStates]
const ids = (page: { items: { queueId: number }[] }) => page.items.map(({ queueId }) => queueId)

test('counts, lists and the single piece of work agree on the state of every row', async () => {
  const orchestratorId = newOrchestratorId()
  for (const state of states) for (let n = 0; n <= states.indexOf(state); n += 1) await insertIn[state](orchestratorId)
  await insertFinished(sql, { orchestratorId, finishedAt: ago('2 hours') })
  const { completedLastHour, failedLastHour, cancelledLastHour, ...live } = await overview(db, {
    orchestratorId,
    span: 'hour',
  })
  const counts = { ...live, completed: completedLastHour, failed: failedLastHour, cancelled: cancelledLastHour }
  for (const [place, state] of states.entries()) {
    expect(counts[state]).toBe(place + 1)
    const { items } = await listWork(db, { orchestratorId, state, limit: 100 })
    expect(items).toHaveLength(state === 'completed' ? place + 2 : place + 1)
    for (const { queueId, state: listed } of items) {
      expect(listed).toBe(state)
      expect((await showWork(db, { queueId })).state).toBe(state)
    }
  }
})

describe('the list', () => {
  test('goes through live work and history, newest first, in pages that neither skip nor repeat a row', async () => {
    const orchestratorId = newOrchestratorId()
    const all: number[] = []
    for (let n = 0; n < 25; n += 1)
      all.unshift((await insertIn[states[n % states.length] ?? 'queued'](orchestratorId)).queueId)
    const seen: number[] = []
    for (let after: number | undefined; ; ) {
      const page = await listWork(db, { orchestratorId, after, limit: 7 })
      seen.push(...ids(page))
      if (page.nextCursor === null) break
      after = Number(page.nextCursor)
      await insertWork(sql, { orchestratorId })
    }
    expect(seen).toStrictEqual(all)
  })

  test('is narrowed by orchestrator, machine and state together', async () => {
    const orchestratorId = newOrchestratorId()
    for (const state of states) await insertIn[state](orchestratorId)
    const list = async (filter: object) => ids(await listWork(db, { orchestratorId, limit: 100, ...filter })).length
    expect(await list({ machineId: 'laptop' })).toBe(1)
    expect(await list({ machineId: 'laptop', state: 'stale' })).toBe(0)
    expect(await list({ machineId: 'desktop', state: 'stale' })).toBe(1)
    expect(await list({ orchestratorId: newOrchestratorId() })).toBe(0)
  })

  test('finds by id, by the beginning of a dedupe key, and by a part of the payload, whatever the letters', async () => {
    const orchestratorId = newOrchestratorId()
    const one = await insertWork(sql, { orchestratorId, dedupeKey: 'ENG-142', payload: { title: 'Fix the LOGIN' } })
    const other = await insertFinished(sql, {
      orchestratorId,
      dedupeKey: 'eng_142%',
      payload: { title: '100% \\ _ "quoted" 😀' },
    })
    const find = async (q: string) => ids(await listWork(db, { orchestratorId, q, limit: 10 }))
    expect(await find(`${one.queueId}`)).toStrictEqual([one.queueId])
    expect(await find('ENG-1')).toStrictEqual([one.queueId])
    expect(await find('NG-142')).toStrictEqual([])
    expect(await find('login')).toStrictEqual([one.queueId])
    expect(await find('eng_')).toStrictEqual([other.queueId])
    expect(await find('100%')).toStrictEqual([other.queueId])
    expect(await find('😀')).toStrictEqual([other.queueId])
    expect(await find('%')).toStrictEqual([other.queueId])
    expect(await find(`'; DROP TABLE dispatch_queue; --`)).toStrictEqual([])
  })
})

describe('the sentence that says why nobody has claimed it', () => {
  const explain = async ({ queueId }: Inserted) => (await showWork(db, { queueId })).explanation

  test('names the place in the line, and that no machine has ever polled', async () => {
    const first = await insertWork(sql, { priority: -1 })
    const { orchestratorId } = first
    expect(await explain(first)).toBe(
      `It is next in line. No machine of orchestrator ${orchestratorId} has ever polled with a machineId.`,
    )
    const second = await insertWork(sql, { orchestratorId })
    expect(await explain(second)).toMatch(/^It waits behind 1 other\. /)
    const third = await insertWork(sql, { orchestratorId, priority: 5 })
    expect(await explain(third)).toMatch(/^It waits behind 2 others\. /)
  })

  test('names since when no machine has polled, or that machines do', async () => {
    const work = await insertWork(sql)
    await sql(
      `INSERT INTO machines (orchestrator_id, machine_id, last_seen_at) VALUES ($1, 'laptop', '2026-01-02T03:04:05.678Z')`,
      [work.orchestratorId],
    )
    expect(await explain(work)).toBe(
      `It is next in line. No machine of orchestrator ${work.orchestratorId} has polled since 2026-01-02T03:04:05.678Z.`,
    )
    await sql(`INSERT INTO machines (orchestrator_id, machine_id) VALUES ($1, 'desktop')`, [work.orchestratorId])
    expect(await explain(work)).toBe('It is next in line. Machines are polling.')
  })

  test('names the holder and its lease, the time it is due, or how it ended', async () => {
    const orchestratorId = newOrchestratorId()
    expect(await explain(await insertIn.claimed(orchestratorId))).toMatch(
      /^It is claimed by machine laptop until 20.*Z, unless/,
    )
    expect(await explain(await insertIn.stale(orchestratorId))).toMatch(
      /^It was claimed by machine desktop, whose lease ran out at/,
    )
    expect(await explain(await insertIn.scheduled(orchestratorId))).toMatch(/^It is not due until 20.*Z\.$/)
    const failed = await insertWork(sql, { availableAt: ahead('1 minute'), attempts: 1, lastError: 'red' })
    expect(await explain(failed)).toMatch(/^Attempt 1 of 3 failed; it is due again at/)
    expect(await explain(await insertIn.cancelled(orchestratorId))).toMatch(/^It is cancelled since/)
  })
})

test('work of another orchestrator is as unknown as work that does not exist', async () => {
  const { queueId } = await insertWork(sql)
  expect(await refusalOf(showWork(db, { queueId, orchestratorId: newOrchestratorId() }))).toStrictEqual({
    code: 'not-found',
  })
  expect(await refusalOf(showWork(db, { queueId: Number.MAX_SAFE_INTEGER }))).toStrictEqual({ code: 'not-found' })
})

test('the list goes oldest first as well, to its end', async () => {
  const orchestratorId = newOrchestratorId()
  const all: number[] = []
  for (let n = 0; n < 15; n += 1)
    all.push((await insertIn[states[n % states.length] ?? 'queued'](orchestratorId)).queueId)
  const seen: number[] = []
  for (let after: number | undefined; ; ) {
    const page = await listWork(db, { orchestratorId, after, order: 'oldest', limit: 4 })
    seen.push(...ids(page))
    if (page.nextCursor === null) break
    after = Number(page.nextCursor)
  }
  expect(seen).toStrictEqual(all)
})
