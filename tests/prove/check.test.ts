import { describe, expect, test } from 'vitest'
import { check } from '@/lib/prove/check'
import type { FinalWork, HistoryEvent } from '@/lib/prove/history'

const LEASE_MS = 1_000
const work = (changes: Partial<FinalWork> = {}): FinalWork => ({
  queueId: 1,
  state: 'completed',
  attempts: 1,
  maxAttempts: 3,
  priority: 0,
  attemptLog: [{ attempt: 1, how: 'completed' }],
  ...changes,
})
const at = (time: number, machine = 'laptop') => ({ machine, sentAt: time, seenAt: time + 10, queueId: 1 })
const enqueued = (time = 0): HistoryEvent => ({ kind: 'enqueued', isNew: true, ...at(time) })
const claimed = (time: number, token: string, more: object = {}): HistoryEvent => ({
  kind: 'claimed',
  token,
  attempts: 1,
  leaseMs: LEASE_MS,
  ...at(time, token),
  ...more,
})
const renewed = (time: number, token: string): HistoryEvent => ({
  kind: 'renewed',
  token,
  leaseMs: LEASE_MS,
  ...at(time, token),
})
const settled = (
  time: number,
  token: string,
  kind: 'completed' | 'failed' | 'released' = 'completed',
  isAccepted = true,
): HistoryEvent => ({
  kind,
  token,
  isAccepted,
  ...at(time, token),
})
const next = (machine: string, limit: number, queueIds: number[], isAlone = false): HistoryEvent => ({
  kind: 'next',
  machine,
  sentAt: 1,
  seenAt: 2,
  limit,
  isAlone,
  queueIds,
})
const rules = (history: HistoryEvent[], works: FinalWork[]) => check(history, works).map(({ rule }) => rule)

const twice = work({
  attempts: 2,
  attemptLog: [
    { attempt: 1, how: 'expired' },
    { attempt: 2, how: 'completed' },
  ],
})

describe('a history without fault', () => {
  test.each<[string, HistoryEvent[], FinalWork[]]>([
    ['one claim, completed', [enqueued(), claimed(20, 'a'), settled(50, 'a')], [work()]],
    [
      'a claim that ran out and was taken by another',
      [enqueued(), claimed(20, 'a'), claimed(1_100, 'b'), settled(1_200, 'b')],
      [twice],
    ],
    ['a late completion that nobody overtook', [enqueued(), claimed(20, 'a'), settled(9_000, 'a')], [work()]],
    [
      'a late one that was refused',
      [enqueued(), claimed(20, 'a'), claimed(1_100, 'b'), settled(1_150, 'a', 'completed', false), settled(1_200, 'b')],
      [twice],
    ],
    [
      'a claim given back and taken at once',
      [enqueued(), claimed(20, 'a'), settled(40, 'a', 'released'), claimed(60, 'b'), settled(90, 'b')],
      [
        work({
          attemptLog: [
            { attempt: 1, how: 'released' },
            { attempt: 1, how: 'completed' },
          ],
        }),
      ],
    ],
    [
      'a release whose answer was lost',
      [enqueued(), claimed(20, 'a'), settled(40, 'a', 'released', false), claimed(60, 'b'), settled(90, 'b')],
      [
        work({
          attemptLog: [
            { attempt: 1, how: 'released' },
            { attempt: 1, how: 'completed' },
          ],
        }),
      ],
    ],
    [
      'a claim that its own machine took over',
      [enqueued(), claimed(20, 'a'), claimed(60, 'b', { previousToken: 'a' }), settled(90, 'b')],
      [work()],
    ],
    ['a claim repeated with its token', [enqueued(), claimed(20, 'a'), claimed(40, 'a'), settled(90, 'a')], [work()]],
    [
      'a claim that ran out, and that its late holder completed',
      [enqueued(), claimed(20, 'a'), settled(9_000, 'a')],
      [
        work({
          attemptLog: [
            { attempt: 1, how: 'expired' },
            { attempt: 1, how: 'completed' },
          ],
        }),
      ],
    ],
    [
      'answers of several machines that cross',
      [next('laptop', 2, [1, 3]), next('desktop', 2, [2])],
      [work({ queueId: 1 }), work({ queueId: 2 }), work({ queueId: 3 })],
    ],
    ['work that is still queued', [enqueued()], [work({ state: 'queued', attempts: 0, attemptLog: [] })]],
    [
      'two answers that crossed',
      [enqueued(), claimed(20, 'a', { seenAt: 900 }), claimed(30, 'b', { seenAt: 1_200 }), settled(1_300, 'b')],
      [twice],
    ],
  ])('%s', (_what, history, works) => {
    expect(check(history, works)).toStrictEqual([])
  })
})

describe('a history that accuses the server', () => {
  test.each<[string, HistoryEvent[], FinalWork[]]>([
    [
      'two live leases',
      [enqueued(), claimed(20, 'a'), claimed(100, 'b')],
      [work({ state: 'claimed', attempts: 2, attemptLog: [{ attempt: 1, how: 'expired' }] })],
    ],
    [
      'two live leases',
      [enqueued(), claimed(20, 'a'), renewed(800, 'a'), claimed(1_300, 'b'), settled(1_400, 'b')],
      [twice],
    ],
    [
      'two live leases',
      [enqueued(), claimed(20, 'a', { seenAt: 90 }), claimed(25, 'b', { seenAt: 80 }), settled(100, 'b')],
      [twice],
    ],
    ['overtaken token', [enqueued(), claimed(20, 'a'), claimed(1_100, 'b'), settled(1_200, 'a')], [twice]],
    ['lost or doubled work', [enqueued()], []],
    ['lost or doubled work', [enqueued(), claimed(20, 'a'), settled(50, 'a')], [work(), work()]],
    [
      'lost completion',
      [enqueued(), claimed(20, 'a'), settled(50, 'a')],
      [work({ state: 'queued', attempts: 0, attemptLog: [] })],
    ],
    [
      'completed twice',
      [enqueued()],
      [
        work({
          attempts: 2,
          attemptLog: [
            { attempt: 1, how: 'completed' },
            { attempt: 2, how: 'completed' },
          ],
        }),
      ],
    ],
    ['wrong attempts', [enqueued()], [work({ attempts: 3 })]],
    [
      'wrong attempts',
      [enqueued()],
      [work({ state: 'queued', attempts: 1, attemptLog: [{ attempt: 1, how: 'released' }] })],
    ],
    [
      'too many attempts',
      [enqueued()],
      [
        work({
          state: 'failed',
          maxAttempts: 1,
          attempts: 2,
          attemptLog: [
            { attempt: 1, how: 'failed' },
            { attempt: 2, how: 'failed' },
          ],
        }),
      ],
    ],
    [
      'more than the limit',
      [{ kind: 'next', machine: 'laptop', sentAt: 1, seenAt: 2, limit: 1, isAlone: false, queueIds: [1, 2] }],
      [],
    ],
    [
      'claim order',
      [next('desktop', 2, [2, 1])],
      [work({ queueId: 1, priority: 0 }), work({ queueId: 2, priority: 5 })],
    ],
    [
      'claim order',
      [next('laptop', 1, [2], true), next('laptop', 1, [1], true)],
      [work({ queueId: 1 }), work({ queueId: 2 })],
    ],
    [
      'one row twice in an answer',
      [{ kind: 'next', machine: 'laptop', sentAt: 1, seenAt: 2, limit: 2, isAlone: false, queueIds: [1, 1] }],
      [],
    ],
  ])('of %s', (rule, history, works) => {
    expect(rules(history, works)).toContain(rule)
  })

  test('names the row and tells its whole story', () => {
    const history = [enqueued(), claimed(20, 'a'), claimed(100, 'b')]
    const [violation] = check(history, [
      work({ state: 'claimed', attempts: 2, attemptLog: [{ attempt: 1, how: 'expired' }] }),
    ])
    expect(violation).toMatchObject({ queueId: 1, story: history, detail: 'b was given work that a held' })
  })
})
