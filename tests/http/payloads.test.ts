import { beforeAll, describe, expect, test } from 'vitest'
import { claimNextResponse, claimResponse } from '@/lib/protocol/claim'
import { enqueueResponse } from '@/lib/protocol/enqueue'
import { completeResponse } from '@/lib/protocol/settle'
import { workResponse } from '@/lib/protocol/work'
import { insertClaimed, insertWork, newOrchestratorId, onlyRow } from '../support/factories'
import { expectAnswer, expectInvalid, expectProblem } from './answers'
import { ADMIN_KEY, everyRow, setUpInstance } from './instance'

const { sql, send } = await setUpInstance()
const LIMIT_BYTES = 262_144

const nested = (levels: number, inner = '') => `${'['.repeat(levels)}${inner}${']'.repeat(levels)}`
const post = (path: string, body: string) => send('POST', path, { key: ADMIN_KEY, body })
const enqueueText = (payload: string, orchestratorId = newOrchestratorId()) =>
  post('/api/enqueue', `{"orchestratorId":"${orchestratorId}","items":[{"payload":0},{"payload":${payload}}]}`)

/** Payloads, as the JSON text that is sent, which nothing could store or give back as they were; and where the flaw is. */
const flawed: [string, string, string][] = [
  ['NUL in a text', '{"a":"x\\u0000y"}', '.a'],
  ['NUL in a key', '{"a":{"x\\u0000y":1}}', '.a["x\\u0000y"]'],
  ['NUL as the whole payload', '"\\u0000"', ''],
  ['half of a surrogate pair', '["ok","\\ud800"]', '[1]'],
  ['the other half', '{"a":["\\udc00x"]}', '.a[0]'],
  ['the halves the wrong way round', '"\\udc00\\ud83d"', ''],
  ['half of a surrogate pair in a key', '{"\\ud800":1}', '["\\ud800"]'],
  ['2^53 + 1, which a double does not hold', '{"n":9007199254740993}', '.n'],
  ['2^53', '9007199254740992', ''],
  ['−2^53', '[-9007199254740992]', '[0]'],
  ['an integer of 30 digits', '123456789012345678901234567890', ''],
  ['1e300, an integer too', '1e300', ''],
  ['1e400', '{"n":1e400}', '.n'],
  ['−1e400', '{"n":[-1e400]}', '.n[0]'],
  ['101 levels of lists', nested(101), ''],
  ['101 levels of objects', `${'{"a":'.repeat(101)}1${'}'.repeat(101)}`, ''],
  ['100,000 levels', nested(100_000), ''],
]

/** Payloads that come back as they went in. */
const kept: [string, string][] = [
  ['null', 'null'],
  ['false', 'false'],
  ['0', '0'],
  ['an empty text', '""'],
  ['an empty list', '[]'],
  ['an empty object', '{}'],
  ['a text that looks like JSON', '"{\\"a\\":1}"'],
  ['the six characters \\u0000', '"\\\\u0000"'],
  ['the six characters \\u0000 as a key', '{"\\\\u0000":"\\\\ud800"}'],
  ['__proto__, constructor and prototype as keys', '{"a":2,"__proto__":{"x":1},"constructor":{"prototype":{"y":2}}}'],
  ['2^53 − 1', '[9007199254740991,-9007199254740991]'],
  ['fractions', '[0.1,1.5e-300,0.30000000000000004,1.7976931348623157e-308]'],
  ['100 levels', nested(100, '1')],
  ['100 levels of objects', `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`],
  ['emoji and joined families', JSON.stringify('😀👨‍👩‍👧‍👦🏳️‍🌈')],
  ['replacement, control and direction characters', JSON.stringify('\ufffd\u0001\u007f\u200f\u202e\ufeff\uffff')],
  ['combining marks, not normalised', JSON.stringify(['e\u0301', '\u00e9', 'Å'])],
  ['quotes, backslashes and SQL', JSON.stringify(`"'\\ $1 ?; DROP TABLE dispatch_queue; --`)],
  ['replacement patterns', JSON.stringify({ $1: "$& $` $' $$ $1" })],
  ['keys that are numbers', '{"2":1,"10":2,"1":3}'],
]

/** Puts a payload in through the API and takes it out by a claim; gives the row's id and what came out. */
async function roundTrip(payload: string) {
  const orchestratorId = newOrchestratorId()
  const { items } = expectAnswer(await enqueueText(payload, orchestratorId), 201, enqueueResponse)
  const queueId = items[1]?.queueId
  const answer = await send('POST', '/api/claim', { key: ADMIN_KEY, json: { orchestratorId, queueId } })
  const { claim } = expectAnswer(answer, 200, claimResponse)
  return { orchestratorId, queueId, claim, payload: claim?.payload, text: answer.text }
}

describe('a payload', () => {
  test.each(flawed)('400 with the path for %s, and none of the items is stored', async (_, payload, path) => {
    const before = await everyRow(sql)
    expectInvalid(await enqueueText(payload), `items[1].payload${path}`)
    expect(await everyRow(sql)).toStrictEqual(before)
  })

  test.each(kept)('comes back as it went in: %s', async (_, payload) => {
    const { queueId, payload: claimed } = await roundTrip(payload)
    expect(JSON.stringify(claimed)).toBe(JSON.stringify(JSON.parse(payload)))
    const shown = await send('GET', `/api/work/${queueId}`, { key: ADMIN_KEY })
    expect(JSON.stringify(expectAnswer(shown, 200, workResponse).payload)).toBe(JSON.stringify(JSON.parse(payload)))
    expect('x' in {}, 'nothing was polluted').toBe(false)
  })

  test('is jsonb of its own type, not a text that holds JSON', async () => {
    for (const [type, payload] of [
      ['object', '{"k":"v"}'],
      ['array', '[1]'],
      ['string', '"{}"'],
      ['number', '5'],
      ['null', 'null'],
    ]) {
      const { queueId } = await roundTrip(payload ?? '')
      const [row] = await sql(
        `SELECT jsonb_typeof(payload) AS type, payload ->> 'k' AS k FROM dispatch_queue WHERE id = $1`,
        [queueId],
      )
      expect(row).toStrictEqual({ type, k: type === 'object' ? 'v' : null })
    }
  })

  test('400 when it is left out, for null has to be said', async () => {
    const json = { orchestratorId: newOrchestratorId(), items: [{ priority: 1 }] }
    expectInvalid(await send('POST', '/api/enqueue', { key: ADMIN_KEY, json }), 'items[0].payload')
  })

  test('201 at the limit in bytes of UTF-8, 413 one byte over it, with the limit', async () => {
    const ofBytes = (bytes: number) => JSON.stringify(`é${'x'.repeat(bytes - 4)}`)
    expectAnswer(await enqueueText(ofBytes(LIMIT_BYTES)), 201, enqueueResponse)
    const before = await everyRow(sql)
    const refused = expectProblem(await enqueueText(ofBytes(LIMIT_BYTES + 1)), 413, 'too-large')
    expect(refused.limitBytes).toBe(LIMIT_BYTES)
    expect(refused.detail).toContain('items[1].payload')
    expect(await everyRow(sql)).toStrictEqual(before)
  })
})

describe('a payload that a plain INSERT put in', () => {
  const claimText = async (payload: string) => {
    const { queueId, orchestratorId } = await insertWork(sql)
    await sql('UPDATE dispatch_queue SET payload = $2::jsonb WHERE id = $1', [queueId, payload])
    const answer = await send('POST', '/api/claim', { key: ADMIN_KEY, json: { orchestratorId, queueId } })
    return { queueId, answer }
  }

  test('is handed out however deep it is nested: 8,000 levels', async () => {
    const { queueId, answer } = await claimText(nested(8_000))
    expect(answer.status).toBe(200)
    expect(answer.text).toContain(`"payload":${nested(8_000)}`)
    const shown = await send('GET', `/api/work/${queueId}`, { key: ADMIN_KEY })
    expect(shown.status).toBe(200)
    expect(shown.text).toContain(nested(8_000))
    expect(await onlyRow(sql, queueId)).toMatchObject({ attempts: 1 })
  })

  test.each(['9007199254740993', '1e400', '123456789012345678901234567890.10', '1.10', '-0.0'])(
    'is handed out with the digits that Postgres keeps: %s',
    async (number) => {
      const { queueId, answer } = await claimText(`{"n":${number}}`)
      const [row] = await sql<{ stored: string }>(`SELECT payload::text AS stored FROM dispatch_queue WHERE id = $1`, [
        queueId,
      ])
      expect(answer.status).toBe(200)
      expect(answer.text).toContain(`"payload":${row?.stored}`)
    },
  )
})

describe('a result', () => {
  const complete = (claim: object, result: string) =>
    post('/api/complete', `${JSON.stringify(claim).slice(0, -1)},"result":${result}}`)
  const claimed = async () => {
    const { queueId, orchestratorId, claimToken } = await insertClaimed(sql)
    return { queueId, orchestratorId, claimToken }
  }

  test.each(flawed)('400 with the path for %s, and the claim stays open', async (_, result, path) => {
    const claim = await claimed()
    const before = await onlyRow(sql, claim.queueId)
    expectInvalid(await complete(claim, result), `result${path}`)
    expect(await onlyRow(sql, claim.queueId)).toStrictEqual(before)
  })

  test.each(kept)('is kept as it was sent: %s', async (_, result) => {
    const claim = await claimed()
    expectAnswer(await complete(claim, result), 200, completeResponse)
    const shown = await send('GET', `/api/work/${claim.queueId}`, { key: ADMIN_KEY })
    expect(JSON.stringify(expectAnswer(shown, 200, workResponse).result)).toBe(JSON.stringify(JSON.parse(result)))
  })

  test('413 with the limit when it is too large; the claim stays open, and is completed with a smaller one', async () => {
    const claim = await claimed()
    const before = await onlyRow(sql, claim.queueId)
    const over = JSON.stringify('x'.repeat(LIMIT_BYTES - 1))
    expect(expectProblem(await complete(claim, over), 413, 'too-large').limitBytes).toBe(LIMIT_BYTES)
    expect(await onlyRow(sql, claim.queueId)).toStrictEqual(before)
    expectAnswer(await complete(claim, JSON.stringify('x'.repeat(LIMIT_BYTES - 2))), 200, completeResponse)
  })

  test('413 in a batch names the entry, and nothing of the batch is done', async () => {
    const claims = await Promise.all([claimed(), claimed()])
    const before = await everyRow(sql)
    const entries = claims.map(({ queueId, claimToken }, index) => ({
      queueId,
      claimToken,
      result: 'x'.repeat(index * LIMIT_BYTES),
    }))
    const json = { orchestratorId: claims[0]?.orchestratorId, claims: entries }
    const refused = expectProblem(await send('POST', '/api/complete/batch', { key: ADMIN_KEY, json }), 413, 'too-large')
    expect(refused).toMatchObject({ limitBytes: LIMIT_BYTES, detail: expect.stringContaining('claims[1].result') })
    expect(await everyRow(sql)).toStrictEqual(before)
  })
})

describe('sixty rows of the largest payload', () => {
  const orchestratorId = newOrchestratorId()
  beforeAll(async () => {
    await sql(
      `INSERT INTO dispatch_queue (orchestrator_id, payload)
       SELECT $1, to_jsonb(repeat('x', ${LIMIT_BYTES - 2})) FROM generate_series(1, 60)`,
      [orchestratorId],
    )
  })

  test('are listed by a poll without a payload, in less than 200 kB', async () => {
    const answer = await send('GET', `/api/poll?orchestratorId=${orchestratorId}&limit=100`, { key: ADMIN_KEY })
    expect(answer.body).toMatchObject({ queued: { length: 60 } })
    expect(answer.text.length).toBeLessThan(200_000)
  })

  test('are claimed in answers that end early, each below the 4.5 MB that Vercel lets through, until none is left', async () => {
    const sizes: number[] = []
    for (let left = 60; left > 0; left -= sizes.at(-1) ?? 60) {
      const json = { orchestratorId, machineId: 'm', limit: 100 }
      const answer = await send('POST', '/api/claim/next', { key: ADMIN_KEY, json })
      expect(answer.text.length).toBeLessThan(4_500_000)
      sizes.push(expectAnswer(answer, 200, claimNextResponse).claims.length)
    }
    expect(sizes).toStrictEqual([12, 12, 12, 12, 12])
    const held = await send('GET', `/api/poll?orchestratorId=${orchestratorId}&machineId=m`, { key: ADMIN_KEY })
    expect(held.body).toMatchObject({ held: { length: 12 } })
    expect(held.text.length).toBeLessThan(4_500_000)
  })
})
