/** Histories that a correct queue could have given are never accused; the same ones with one lie in them are. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { check } from '@/lib/prove/check'
import type { ClaimedEvent, FinalWork, HistoryEvent, SettledEvent } from '@/lib/prove/history'

const LEASE_MS = 1_000

type Ending = 'completed' | 'failed' | 'released' | 'expired'

/** One claim: how long after the row was free it was given, how it ended, and how far its answers lag behind. */
interface Turn {
  waitedMs: number
  heldMs: number
  ending: Ending
  lagMs: number
}

const turn = fc.record({
  waitedMs: fc.integer({ min: 0, max: 500 }),
  heldMs: fc.integer({ min: 0, max: LEASE_MS - 1 }),
  ending: fc.constantFrom<Ending>('completed', 'failed', 'released', 'expired'),
  lagMs: fc.integer({ min: 0, max: 300 }),
})
const turns = fc.array(turn, { minLength: 1, maxLength: 6 })

interface Lived {
  history: HistoryEvent[]
  work: FinalWork
}

/** Lets one row live through turns as a correct queue would: each claim begins when the one before it is over. */
function live(given: readonly Turn[], queueId = 1): Lived {
  const history: HistoryEvent[] = [
    { kind: 'enqueued', machine: 'producer', queueId, isNew: true, sentAt: 0, seenAt: 1 },
  ]
  const attemptLog: { attempt: number; how: string }[] = []
  let [clock, attempts] = [2, 0]
  let state: FinalWork['state'] = 'queued'
  for (const [index, { waitedMs, heldMs, ending, lagMs }] of given.entries()) {
    if (state === 'completed') break
    const machine = `machine-${index}`
    const token = `token-${index}`
    const givenAt = clock + waitedMs
    attempts += 1
    history.push({
      kind: 'claimed',
      machine,
      queueId,
      token,
      attempts,
      leaseMs: LEASE_MS,
      sentAt: givenAt - Math.min(lagMs, waitedMs),
      seenAt: givenAt + Math.min(lagMs, heldMs),
    })
    const endedAt = ending === 'expired' ? givenAt + LEASE_MS : givenAt + heldMs
    if (ending !== 'expired') {
      const sentAt = Math.max(endedAt - lagMs, givenAt + Math.min(lagMs, heldMs))
      history.push({
        kind: ending,
        machine,
        queueId,
        token,
        isAccepted: true,
        sentAt: Math.min(sentAt, endedAt),
        seenAt: endedAt + lagMs,
      })
    }
    attemptLog.push({ attempt: attempts, how: ending })
    if (ending === 'released') attempts -= 1
    if (ending === 'completed') state = 'completed'
    clock = endedAt + 1
  }
  return { history, work: { queueId, state, attempts, maxAttempts: 100, priority: 0, attemptLog } }
}

const isClaim = (event: HistoryEvent): event is ClaimedEvent => event.kind === 'claimed'
const isCompletion = (event: HistoryEvent): event is SettledEvent => event.kind === 'completed'

describe('what a correct queue gives', () => {
  test('is never accused, whatever the turns and the lag of the answers', () => {
    fc.assert(
      fc.property(fc.array(turns, { minLength: 1, maxLength: 4 }), (rows) => {
        const lived = rows.map((given, index) => live(given, index + 1))
        expect(
          check(
            lived.flatMap(({ history }) => history),
            lived.map(({ work }) => work),
          ),
        ).toStrictEqual([])
      }),
      { numRuns: 500 },
    )
  })

  test('is judged the same in whatever order the events were written down', () => {
    fc.assert(
      fc.property(turns, fc.infiniteStream(fc.nat()), (given, random) => {
        const { history, work } = live(given)
        const shuffled = history
          .map((event) => ({ event, place: random.next().value ?? 0 }))
          .sort((one, other) => one.place - other.place)
          .map(({ event }) => event)
        expect(check(shuffled, [work])).toStrictEqual(check(history, [work]))
      }),
    )
  })
})

describe('one lie is found out', () => {
  /** Histories in which the lie can be told. */
  const accused = (rule: string, lie: (lived: Lived) => Lived | undefined) =>
    fc.assert(
      fc.property(turns, (given) => {
        const lying = lie(live(given))
        fc.pre(lying !== undefined)
        expect(check(lying?.history ?? [], lying ? [lying.work] : []).map((violation) => violation.rule)).toContain(
          rule,
        )
      }),
    )

  test('a second machine is given work in the middle of a lease', () => {
    accused('two live leases', ({ history, work }) => {
      const claim = history
        .filter(isClaim)
        .find((each) => !history.some((event) => 'isAccepted' in event && event.token === each.token))
      if (claim === undefined) return undefined
      const rival = { ...claim, machine: 'rival', token: 'rival', sentAt: claim.seenAt + 1, seenAt: claim.seenAt + 2 }
      return rival.seenAt < claim.sentAt + LEASE_MS ? { history: [...history, rival], work } : undefined
    })
  })

  test('a completion is accepted from a machine that was overtaken', () => {
    accused('overtaken token', ({ history, work }) => {
      const [first, second] = history.filter(isClaim)
      if (first === undefined || second === undefined || second.sentAt <= first.seenAt) return undefined
      const late: SettledEvent = {
        kind: 'completed',
        machine: first.machine,
        queueId: 1,
        token: first.token,
        isAccepted: true,
        sentAt: second.seenAt + 1,
        seenAt: second.seenAt + 2,
      }
      return { history: [...history, late], work }
    })
  })

  test('work is gone', () => {
    fc.assert(
      fc.property(turns, (given) => {
        expect(check(live(given).history, []).map(({ rule }) => rule)).toContain('lost or doubled work')
      }),
    )
  })

  test('a completion is forgotten', () => {
    accused('lost completion', ({ history, work }) =>
      history.some(isCompletion) ? { history, work: { ...work, state: 'queued' } } : undefined,
    )
  })

  test('an attempt too many is counted', () => {
    accused('wrong attempts', ({ history, work }) => ({ history, work: { ...work, attempts: work.attempts + 1 } }))
  })
})
