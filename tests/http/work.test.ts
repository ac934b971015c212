import { describe, expect, test } from 'vitest'
import { workActionResponse, workListResponse, workResponse } from '@/lib/protocol/work'
import { ago, ahead, insertClaimed, insertFinished, insertWork, newOrchestratorId, onlyRow } from '../support/factories'
import { expectAnswer, expectInvalid, expectProblem } from './answers'
import { ADMIN_KEY, everyRow, insertKey, setUpInstance } from './instance'

const { sql, send } = await setUpInstance()

/** One row in each state, of an orchestrator of its own. */
async function insertEveryState(orchestratorId = newOrchestratorId()) {
  return {
    orchestratorId,
    ids: {
      queued: (await insertWork(sql, { orchestratorId, payload: { title: 'Größe 100%_x' } })).queueId,
      scheduled: (await insertWork(sql, { orchestratorId, availableAt: ahead('1 hour'), dedupeKey: 'LIN-7' })).queueId,
      claimed: (await insertClaimed(sql, { orchestratorId, claimedBy: 'laptop' })).queueId,
      stale: (await insertClaimed(sql, { orchestratorId, claimExpiresAt: ago('1 minute') })).queueId,
      completed: (await insertFinished(sql, { orchestratorId })).queueId,
      failed: (await insertFinished(sql, { orchestratorId, outcome: 'failed', lastError: 'red' })).queueId,
      cancelled: (await insertFinished(sql, { orchestratorId, outcome: 'cancelled' })).queueId,
    },
  }
}

async function list(query: string, key: string = ADMIN_KEY) {
  return expectAnswer(await send('GET', `/api/work?${query}`, { key }), 200, workListResponse)
}

describe('GET /api/work', () => {
  test('200 with live work and history, newest first, each with its state', async () => {
    const { orchestratorId, ids } = await insertEveryState()
    const { items, nextCursor } = await list(`orchestratorId=${orchestratorId}`)
    expect(items.map(({ state, queueId }) => [state, queueId])).toStrictEqual(Object.entries(ids).reverse())
    expect(nextCursor).toBeNull()
  })

  test('200 with the rows of one state, one machine, or one text', async () => {
    const { orchestratorId, ids } = await insertEveryState()
    const found = async (query: string) =>
      (await list(`orchestratorId=${orchestratorId}&${query}`)).items.map(({ queueId }) => queueId)
    for (const [state, id] of Object.entries(ids)) expect(await found(`state=${state}`)).toStrictEqual([id])
    expect(await found('machineId=laptop')).toStrictEqual([ids.claimed])
    expect(await found('q=LIN-7')).toStrictEqual([ids.scheduled])
    expect(await found(`q=${ids.stale}`)).toStrictEqual([ids.stale])
    expect(await found(`q=${encodeURIComponent('größe 100%_')}`)).toStrictEqual([ids.queued])
    expect(await found(`q=${encodeURIComponent(`' OR true --`)}`)).toStrictEqual([])
  })

  test('200 page by page, with no row twice and none left out', async () => {
    const { orchestratorId, ids } = await insertEveryState()
    const seen: number[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page = await list(`orchestratorId=${orchestratorId}&limit=2${cursor && `&cursor=${cursor}`}`)
      seen.push(...page.items.map(({ queueId }) => queueId))
      cursor = page.nextCursor
    }
    expect(seen).toStrictEqual(Object.values(ids).reverse())
  })

  test("200 with its own orchestrator's work alone for a viewer who is bound to one", async () => {
    const { orchestratorId, ids } = await insertEveryState()
    await insertEveryState()
    const key = await insertKey(sql, 'viewer', { orchestratorId })
    const { items } = await list('limit=100', key)
    expect(items.map(({ queueId }) => queueId)).toStrictEqual(Object.values(ids).reverse())
  })
})

describe('GET /api/work/{queueId}', () => {
  const show = (queueId: number | string, key: string = ADMIN_KEY) => send('GET', `/api/work/${queueId}`, { key })

  test('200 with one whole, in every state, and a sentence', async () => {
    const { ids, orchestratorId } = await insertEveryState()
    for (const [state, queueId] of Object.entries(ids)) {
      const work = expectAnswer(await show(queueId), 200, workResponse)
      expect(work).toMatchObject({ state, queueId, orchestratorId, explanation: expect.stringMatching(/^[A-Z].*\.$/) })
      expect(JSON.stringify(work), 'no token is shown').not.toContain('laimToken')
    }
  })

  test('404 for none, and in the same words for another orchestrator when the key is bound', async () => {
    const { ids, orchestratorId } = await insertEveryState()
    expectProblem(await show(9_007_199_254_740_991), 404, 'not-found')
    expectAnswer(await show(ids.queued, await insertKey(sql, 'viewer', { orchestratorId })), 200, workResponse)
    const bound = await insertKey(sql, 'viewer', { orchestratorId: newOrchestratorId() })
    const { detail } = expectProblem(await show(ids.queued, bound), 404, 'not-found')
    const missing = expectProblem(await show(9_007_199_254_740_991, bound), 404, 'not-found')
    expect(detail.replace(`${ids.queued}`, '')).toBe(missing.detail.replace('9007199254740991', ''))
  })

  test.each(['abc', '0', '-1', '1.5', '1e3', '0x10', '9007199254740992', '99999999999999999999', '%20', '1%00', '１'])(
    '400 for the id %s, with and without an action',
    async (id) => {
      for (const answer of [
        await show(id),
        await send('POST', `/api/work/${id}/cancel`, { key: ADMIN_KEY }),
        await send('POST', `/api/work/${id}/retry`, { key: ADMIN_KEY }),
        await send('POST', `/api/work/${id}/release`, { key: ADMIN_KEY }),
      ])
        expectInvalid(answer, 'queueId')
    },
  )
})

describe("a person's action", () => {
  const act = (queueId: number, action: string) => send('POST', `/api/work/${queueId}/${action}`, { key: ADMIN_KEY })

  const applies = {
    cancel: { states: ['queued', 'scheduled', 'claimed', 'stale'], outcome: 'cancelled' },
    retry: { states: ['failed', 'cancelled'], outcome: 'queued' },
    release: { states: ['claimed', 'stale'], outcome: 'released' },
  } as const

  test.each(Object.entries(applies))(
    '%s: 200 where it applies, elsewhere 409 with the present state',
    async (action, { states, outcome }) => {
      const { ids } = await insertEveryState()
      for (const [state, queueId] of Object.entries(ids)) {
        const before = await onlyRow(sql, queueId)
        const answer = await act(queueId, action)
        if (states.some((one) => one === state))
          expect(expectAnswer(answer, 200, workActionResponse)).toStrictEqual({ outcome })
        else {
          expect(expectProblem(answer, 409, 'wrong-state').state).toBe(state)
          expect(await onlyRow(sql, queueId)).toStrictEqual(before)
        }
      }
    },
  )

  test.each(Object.keys(applies))('%s: 404 for no such work', async (action) => {
    const before = await everyRow(sql)
    expectProblem(await act(9_007_199_254_740_991, action), 404, 'not-found')
    expect(await everyRow(sql)).toStrictEqual(before)
  })

  test('retry: 409 while its dedupe key is live again, and it stays where it is', async () => {
    const { queueId, orchestratorId } = await insertFinished(sql, { outcome: 'failed', dedupeKey: 'LIN-7' })
    await insertWork(sql, { orchestratorId, dedupeKey: 'LIN-7' })
    const before = await everyRow(sql)
    expect(expectProblem(await act(queueId, 'retry'), 409, 'wrong-state').state).toBe('failed')
    expect(await everyRow(sql)).toStrictEqual(before)
  })

  test('ignores a body, of whatever size and kind', async () => {
    const { queueId } = await insertWork(sql)
    const answer = await send('POST', `/api/work/${queueId}/cancel`, { key: ADMIN_KEY, body: '{'.repeat(5_000_000) })
    expectAnswer(answer, 200, workActionResponse)
  })
})
