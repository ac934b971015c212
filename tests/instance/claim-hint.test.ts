import { expect, test } from 'vitest'
import { JsonText } from '@/lib/db/json-text'
import { ClaimHint } from '@/lib/instance/claim-hint'
import type { Place, Scan } from '@/lib/queue/claim-next'

const availableAt = '2026-01-01 00:00:00+00'
const before = (a: Place, b: Place) => a.priority - b.priority || a.queueId - b.queueId
const claimOf = ({ queueId }: Place) => ({
  queueId,
  claimToken: '',
  attempts: 1,
  claimedAt: '1970-01-01T00:00:00.000Z',
  claimExpiresAt: '1970-01-01T00:00:00.000Z',
  leaseMs: 1_000,
  payload: new JsonText('null'),
})

/** A queue whose scans from the beginning take `fullMs`, and those from a place 1 ms. It remembers from where each scan went. */
function slowQueue(fullMs: number) {
  const waiting: Place[] = []
  const scans: ('beginning' | Place)[] = []
  const put = (priority: number, queueId: number) => {
    waiting.push({ priority, queueId, availableAt })
    waiting.sort(before)
  }
  const scanFor =
    (limit: number) =>
    async (from?: Place): Promise<Scan> => {
      scans.push(from ?? 'beginning')
      const found = waiting.filter((place) => from === undefined || before(place, from) >= 0).slice(0, limit)
      for (const place of found) waiting.splice(waiting.indexOf(place), 1)
      const tookMs = from ? 1 : fullMs
      return { claims: found.map(claimOf), end: found.at(-1), tookMs: found.length > 0 ? tookMs : undefined }
    }
  const hint = new ClaimHint()
  const claim = async (limit = 1) => (await hint.claim(limit, scanFor(limit))).map(({ queueId }) => queueId)
  const isHinted = () => scans.at(-1) !== 'beginning'
  return { hint, put, claim, scans, isHinted }
}

/** A queue on which the hint is in use: of 2,000 pieces of work, 100 were claimed. */
async function hintedQueue() {
  const queue = slowQueue(50)
  for (let id = 1_001; id <= 3_000; id += 1) queue.put(0, id)
  for (let n = 0; n < 100; n += 1) await queue.claim()
  expect(queue.isHinted()).toBe(true)
  return queue
}

test('while scans are fast each begins at the beginning', async () => {
  const queue = slowQueue(0.5)
  for (let id = 1; id <= 200; id += 1) queue.put(0, id)
  for (let n = 0; n < 200; n += 1) await queue.claim()
  expect(new Set(queue.scans)).toStrictEqual(new Set(['beginning']))
})

test('scans that are hardly slower than hinted ones begin at the beginning, but for those that measure', async () => {
  const queue = slowQueue(1.2)
  for (let id = 1; id <= 500; id += 1) queue.put(0, id)
  for (let n = 0; n < 500; n += 1) await queue.claim()
  expect(queue.scans.filter((from) => from !== 'beginning').length).toBeLessThan(20)
})

test('work that another instance put before the hint is claimed after a twentieth of the time at the latest', async () => {
  const queue = await hintedQueue()
  queue.put(-10, 1)
  let claims = 0
  while (!(await queue.claim()).includes(1)) claims += 1
  // 50 ms are a twentieth of 1,000 ms, and each hinted scan takes 1 ms.
  expect(claims).toBeLessThanOrEqual(1_000)
  expect(queue.isHinted()).toBe(false)
})

test('scans from the beginning take no more than their share of the time', async () => {
  const queue = slowQueue(50)
  for (let id = 1; id <= 10_000; id += 1) queue.put(0, id)
  for (let n = 0; n < 10_000; n += 1) await queue.claim()
  // The first ones, until the mean was slow, were before the hint.
  const [, ...later] = queue.scans.slice(10)
  const full = later.filter((from) => from === 'beginning').length
  expect(full).toBeGreaterThan(5)
  expect((full * 50) / (full * 50 + (later.length - full))).toBeLessThanOrEqual(0.055)
})

test('all of the work before the hint is claimed once a scan has found its first', async () => {
  const queue = await hintedQueue()
  for (let id = 1; id <= 20; id += 1) queue.put(-10, id)
  while (!(await queue.claim()).includes(1));
  const next: number[] = []
  for (let n = 2; n <= 20; n += 1) next.push(...(await queue.claim()))
  expect(next).toStrictEqual(Array.from({ length: 19 }, (_, index) => index + 2))
})

test('work that came back on this instance is claimed next', async () => {
  const queue = await hintedQueue()
  queue.put(0, 1)
  queue.hint.forget()
  expect(await queue.claim()).toStrictEqual([1])
})

test('work of better priority that came in on this instance is claimed next', async () => {
  const queue = await hintedQueue()
  queue.put(-1, 1)
  queue.hint.makeRoomFor(-1)
  expect(await queue.claim()).toStrictEqual([1])
})

test('work of no better priority that came in leaves the hint as it is', async () => {
  const queue = await hintedQueue()
  queue.put(0, 5_000)
  queue.hint.makeRoomFor(0)
  await queue.claim()
  expect(queue.isHinted()).toBe(true)
})

test('a hinted scan that finds nothing is followed by one from the beginning in the same call', async () => {
  const queue = slowQueue(50)
  for (let id = 1; id <= 10; id += 1) queue.put(0, 100 + id)
  for (let n = 0; n < 10; n += 1) await queue.claim()
  expect(queue.isHinted()).toBe(true)
  queue.put(0, 1)
  expect(await queue.claim()).toStrictEqual([1])
})

test('a hinted scan that finds less than was asked for is the last one', async () => {
  const queue = await hintedQueue()
  queue.put(0, 1)
  expect(await queue.claim(5_000)).not.toContain(1)
  expect(await queue.claim(5_000)).toStrictEqual([1])
})

test('work that comes back while a scan is under way is not passed over by what that scan learnt', async () => {
  const { hint, claim } = await hintedQueue()
  const froms: (Place | undefined)[] = []
  hint.forget()
  await hint.claim(1, async (from) => {
    froms.push(from)
    hint.forget()
    const end = { priority: 0, availableAt, queueId: 9_000 }
    return { claims: [claimOf(end)], end, tookMs: 50 }
  })
  await claim()
  await hint.claim(1, async (from) => {
    froms.push(from)
    return { claims: [], end: undefined, tookMs: undefined }
  })
  expect(froms[0]).toBeUndefined()
  expect(froms[1]?.queueId).not.toBe(9_000)
})
