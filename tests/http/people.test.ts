import { describe, expect, test } from 'vitest'
import { machinesResponse, overviewResponse } from '@/lib/protocol/overview'
import { workActionsResponse, workListResponse } from '@/lib/protocol/work'
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
import { expectAnswer, expectInvalid, expectProblem } from './answers'
import { ADMIN_KEY, insertKey, setUpInstance } from './instance'

const { sql, send } = await setUpInstance()

describe('GET /api/overview', () => {
  const overviewOf = async (query: string, key: string = ADMIN_KEY) =>
    expectAnswer(await send('GET', `/api/overview?${query}`, { key }), 200, overviewResponse)

  test('counts one orchestrator’s work, its oldest and what it did; an expired claim is stale, not claimed', async () => {
    const orchestratorId = newOrchestratorId()
    await insertWork(sql, { orchestratorId, availableAt: ago('5 minutes'), priority: 7 })
    await insertWork(sql, { orchestratorId, availableAt: ago('1 minute'), priority: -7 })
    await insertWork(sql, { orchestratorId, availableAt: ahead('1 hour') })
    await insertClaimed(sql, { orchestratorId })
    await insertClaimed(sql, { orchestratorId, claimExpiresAt: ago('10 minutes') })
    await insertFinished(sql, {
      orchestratorId,
      createdAt: ago('100 seconds'),
      availableAt: ago('90 seconds'),
      claimedAt: ago('60 seconds'),
      finishedAt: ago('20 seconds'),
    })
    await insertFinished(sql, { orchestratorId, outcome: 'failed', finishedAt: ago('2 hours') })
    const hour = await overviewOf(`orchestratorId=${orchestratorId}`)
    expect(hour).toMatchObject({
      queued: 2,
      scheduled: 1,
      claimed: 1,
      stale: 1,
      completedLastHour: 1,
      failedLastHour: 0,
    })
    expect(hour.timeToClaimMs?.map(Math.round)).toStrictEqual([30_000, 30_000])
    expect(hour.runTimeMs?.map(Math.round)).toStrictEqual([40_000, 40_000])
    expect(hour.oldestQueuedMs).toBeGreaterThan(299_000)
    expect(hour.staleForMs).toBeGreaterThan(599_000)
    expect(hour.unattended).toStrictEqual([{ orchestratorId, machineSeenMs: null }])
    expect(hour.series.map(([, completed, failed]) => [completed, failed])).toStrictEqual([[1, 0]])
    const day = await overviewOf(`orchestratorId=${orchestratorId}&span=day`)
    expect(day.series.reduce((sum, [, , failed]) => sum + failed, 0)).toBe(1)
  })

  test('of nothing is nothing', async () => {
    const empty = await overviewOf(`orchestratorId=${newOrchestratorId()}`)
    expect(empty).toMatchObject({
      queued: 0,
      oldestQueuedMs: null,
      staleForMs: null,
      timeToClaimMs: null,
      series: [],
      unattended: [],
    })
  })

  test('is for viewers, of their orchestrator alone; another span is refused', async () => {
    const orchestratorId = newOrchestratorId()
    const key = await insertKey(sql, 'viewer', { orchestratorId })
    await insertWork(sql)
    expect(await overviewOf('', key)).toMatchObject({ queued: 0 })
    expectProblem(await send('GET', '/api/overview?orchestratorId=globex', { key }), 403, 'forbidden')
    expectInvalid(await send('GET', '/api/overview?span=week', { key: ADMIN_KEY }), 'span')
  })
})

test('GET /api/machines: what each machine holds and has completed, seen last first', async () => {
  const orchestratorId = newOrchestratorId()
  await sql(
    `INSERT INTO machines (orchestrator_id, machine_id, last_seen_at)
     VALUES ($1, 'laptop', now()), ($1, 'desktop', now() - interval '1 hour')`,
    [orchestratorId],
  )
  const { queueId } = await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop' })
  await insertFinished(sql, { orchestratorId, claimedBy: 'laptop' })
  const answer = await send('GET', `/api/machines?orchestratorId=${orchestratorId}`, { key: ADMIN_KEY })
  expect(expectAnswer(answer, 200, machinesResponse).machines).toMatchObject([
    { machineId: 'laptop', holding: [queueId], holds: 1, completedLastHour: 1 },
    { machineId: 'desktop', holding: [], holds: 0, completedLastHour: 0 },
  ])
})

describe('POST /api/work/actions', () => {
  const act = async (action: string, items: object[]) =>
    expectAnswer(
      await send('POST', '/api/work/actions', { key: ADMIN_KEY, json: { action, items } }),
      200,
      workActionsResponse,
    ).changed

  test('changes what is as it was seen, and leaves alone what is not, is unknown or in another state', async () => {
    const held = await insertClaimed(sql, { claimedBy: 'laptop' })
    const moved = await insertClaimed(sql, { claimedBy: 'desktop', attempts: 2 })
    const queued = await insertWork(sql)
    const items = [
      { queueId: held.queueId, attempts: 1, claimedBy: 'laptop' },
      { queueId: moved.queueId, attempts: 1, claimedBy: 'laptop' },
      { queueId: queued.queueId, attempts: 0, claimedBy: null },
      { queueId: 2 ** 52, attempts: 0, claimedBy: null },
    ]
    expect(await act('release', items)).toStrictEqual([held.queueId])
    expect(await onlyRow(sql, moved.queueId)).toMatchObject({ claimed_by: 'desktop', attempts: 2 })
    expect(await act('release', items)).toStrictEqual([])
  })

  test('cancels live work and retries finished work, each once', async () => {
    const { queueId } = await insertWork(sql)
    const items = [{ queueId, attempts: 0, claimedBy: null }]
    expect(await act('cancel', items)).toStrictEqual([queueId])
    expect(await act('cancel', items)).toStrictEqual([])
    expect((await allRows(sql, queueId)).history).toMatchObject([{ outcome: 'cancelled' }])
    expect(await act('retry', items)).toStrictEqual([queueId])
    expect(await act('retry', items)).toStrictEqual([])
    expect((await allRows(sql, queueId)).queue).toMatchObject([{ claimed_at: null, attempts: 0 }])
  })

  test('does not run completed work again', async () => {
    const { queueId, machineId } = await insertFinished(sql)
    expect(await act('retry', [{ queueId, attempts: 1, claimedBy: machineId }])).toStrictEqual([])
    expect((await allRows(sql, queueId)).history).toMatchObject([{ outcome: 'completed' }])
  })

  test('refuses a piece of work named twice', async () => {
    const item = { queueId: 1, attempts: 0, claimedBy: null }
    expectInvalid(
      await send('POST', '/api/work/actions', { key: ADMIN_KEY, json: { action: 'cancel', items: [item, item] } }),
      'items',
    )
  })
})

test('a list of one state behind more rows than a page looks through goes on where it stopped', async () => {
  const orchestratorId = newOrchestratorId()
  const { queueId } = await insertFinished(sql, { orchestratorId })
  await sql(
    `INSERT INTO dispatch_history (id, orchestrator_id, payload, attempts, outcome)
     SELECT nextval('dispatch_queue_id_seq'), 'filler', '1', 1, 'completed' FROM generate_series(1, 60000)`,
  )
  const page = async (cursor: string) =>
    expectAnswer(
      await send('GET', `/api/work?orchestratorId=${orchestratorId}&state=completed${cursor}`, { key: ADMIN_KEY }),
      200,
      workListResponse,
    )
  const first = await page('')
  expect(first.items).toStrictEqual([])
  expect(first.nextCursor).not.toBeNull()
  expect((await page(`&cursor=${first.nextCursor}`)).items.map((item) => item.queueId)).toStrictEqual([queueId])
})
