import { sql } from 'drizzle-orm'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { Db } from '@/lib/db/client'
import { sqlState } from '@/lib/db/errors'
import { JsonText } from '@/lib/db/json-text'
import { nullable, read, statement } from '@/lib/db/statement'
import { setUpDatabase, testDriver } from '../support/db'
import { allRows, insertWork, newOrchestratorId } from '../support/factories'
import { recordStatements } from '../support/statements'

const database = await setUpDatabase()
const { db } = database

const everyKind = statement(
  'test_every_kind',
  {
    id: read.id,
    number: read.number,
    text: read.text,
    yes: read.boolean,
    no: read.boolean,
    instant: read.instant,
    json: read.json,
    nothing: nullable(read.text),
    noInstant: nullable(read.instant),
  },
  sql`SELECT 9007199254740991::bigint, 7::smallint, 'text' || ${sql.placeholder('text')}::text, true, false,
             timestamptz '2026-12-01 06:27:00.123456Z', ${sql.placeholder('json')}::jsonb::text, NULL::text, NULL::timestamptz`,
)
const enqueue = statement(
  'test_enqueue',
  { queueId: read.id },
  sql`INSERT INTO dispatch_queue (orchestrator_id, payload)
      VALUES (${sql.placeholder('orchestratorId')}, ${sql.placeholder('payload')}::jsonb) RETURNING id`,
)
const echo = statement(
  'test_echo',
  { number: read.number, flag: read.boolean, at: read.instant, ids: read.text, nothing: nullable(read.number) },
  sql`SELECT ${sql.placeholder('number')}::integer, ${sql.placeholder('flag')}::boolean, ${sql.placeholder('at')}::timestamptz,
             array_to_string(${sql.placeholder('ids')}::bigint[], '+'), ${sql.placeholder('nothing')}::integer`,
)

describe('values out of the database', () => {
  test('ids come as exact numbers, instants as ISO 8601 in UTC, flags as booleans, NULL as null', async () => {
    const rows = await everyKind(db, { text: ' and more', json: '{}' })
    expect(rows).toStrictEqual([
      {
        id: Number.MAX_SAFE_INTEGER,
        number: 7,
        text: 'text and more',
        yes: true,
        no: false,
        instant: '2026-12-01T06:27:00.123Z',
        json: new JsonText('{}'),
        nothing: null,
        noInstant: null,
      },
    ])
  })

  test.each(['{"n": 12345678901234567890.10}', '"text"', 'null', '[]', '"\\\\u0000"', '{"__proto__": {"x": 1}}'])(
    'json %s comes as Postgres wrote it, down to the digits',
    async (json) => {
      expect((await everyKind(db, { text: '', json }))[0]?.json.text).toBe(json)
    },
  )

  test('instants are the same whatever the zones of the process and of the session', async () => {
    const [zone] = await database.sql('SHOW timezone')
    expect([process.env.TZ, zone?.TimeZone]).toStrictEqual(['America/St_Johns', 'Asia/Kolkata'])
    expect(new Date('2026-12-01T00:00:00Z').getTimezoneOffset()).toBe(210)
  })

  test.each([
    ['2026-12-01 06:27:00+00', '2026-12-01T06:27:00.000Z'],
    ['2026-12-01 06:27:00.1+00', '2026-12-01T06:27:00.100Z'],
    ['2026-12-01 06:27:00.123999+00', '2026-12-01T06:27:00.123Z'],
    ['2026-12-01 11:57:00.123+05:30', '2026-12-01T06:27:00.123Z'],
    ['2026-11-30 23:57:00.5-06:30', '2026-12-01T06:27:00.500Z'],
  ])('the instant that Postgres writes as %s is %s', (written, instant) => {
    expect(read.instant(written)).toBe(instant)
  })

  test('the query builder gives the same kinds of values', async () => {
    const rows = await db.execute<Record<string, unknown>>(
      sql`SELECT 1::integer AS number, true AS flag, 'a' AS text, NULL AS nothing`,
    )
    expect(rows).toMatchObject({ rows: [{ number: 1, flag: true, text: 'a', nothing: null }] })
  })
})

describe('values into the database', () => {
  test('numbers, booleans, Dates, arrays and null arrive as they are', async () => {
    const values = {
      number: -5,
      flag: false,
      at: new Date('2026-03-08T07:00:00.999Z'),
      ids: [1, 4294967296],
      nothing: null,
    }
    expect(await echo(db, values)).toStrictEqual([{ ...values, at: '2026-03-08T07:00:00.999Z', ids: '1+4294967296' }])
  })

  test.each([
    ['{"k": {"deep": true}}', 'object'],
    ['[1, "2"]', 'array'],
    ['"text"', 'string'],
    ['12.5', 'number'],
    ['false', 'boolean'],
    ['null', 'null'],
  ])('json %s is stored as a jsonb %s, never as a string that holds json', async (payload, kind) => {
    const [row] = await enqueue(db, { orchestratorId: newOrchestratorId(), payload })
    const stored = await database.sql(
      'SELECT jsonb_typeof(payload) AS kind, payload::text, payload IS NULL AS "isSqlNull" FROM dispatch_queue WHERE id = $1',
      [row?.queueId],
    )
    expect(stored).toStrictEqual([{ kind, payload, isSqlNull: false }])
  })

  test('text with emoji, combining marks and control characters arrives unchanged', async () => {
    const text = '😀 👨‍👩‍👧‍👦 e\u0301 \u200f\uFFFD\u0001 \' " \\ $1 %'
    expect((await everyKind(db, { text, json: 'null' }))[0]?.text).toBe(`text${text}`)
  })

  test('ids past 2^31 go in and come out', async () => {
    await database.sql(`SELECT setval('dispatch_queue_id_seq', 2147483657)`)
    const [row] = await enqueue(db, { orchestratorId: newOrchestratorId(), payload: '{}' })
    expect(row).toStrictEqual({ queueId: 2147483658 })
    expect((await allRows(database.sql, 2147483658)).queue).toMatchObject([{ id: 2147483658 }])
    expect((await echo(db, { number: 0, flag: true, at: new Date(0), ids: [2147483658], nothing: null }))[0]?.ids).toBe(
      '2147483658',
    )
  })
})

describe('refusals', () => {
  const refusals: [string, string, Parameters<typeof sql.raw>[0]][] = [
    ['23514', 'a CHECK', `INSERT INTO dispatch_queue (orchestrator_id, payload, priority) VALUES ('a', '1', 5000)`],
    ['23502', 'a NOT NULL', `INSERT INTO dispatch_queue (orchestrator_id) VALUES ('a')`],
    ['22P05', 'a NUL in jsonb', `SELECT '"\\u0000"'::jsonb`],
    ['22003', 'a number out of range', 'SELECT 2147483648::integer'],
    ['54001', 'nesting too deep', `SELECT repeat('[', 60000)::jsonb`],
    ['42P01', 'an unknown table', 'SELECT FROM no_such_table'],
  ]
  test.each(refusals)('SQLSTATE %s of %s is found inside the error', async (state, _, text) => {
    const error = await db.execute(sql.raw(text)).catch((error: unknown) => error)
    expect(sqlState(error)).toBe(state)
  })

  test('SQLSTATE 23505 of a unique key is found inside the error of a statement', async () => {
    const row = await insertWork(database.sql, { dedupeKey: 'k' })
    const again = statement(
      'test_again',
      { queueId: read.id },
      sql`INSERT INTO dispatch_queue (orchestrator_id, payload, dedupe_key)
          VALUES (${sql.placeholder('orchestratorId')}, '1', 'k') RETURNING id`,
    )
    const error = await again(db, { orchestratorId: row.orchestratorId }).catch((error: unknown) => error)
    expect(sqlState(error)).toBe('23505')
  })

  test('SQLSTATE 22021 of a NUL in text is found inside the error', async () => {
    const error = await everyKind(db, { text: 'a\u0000b', json: '1' }).catch((error: unknown) => error)
    expect(sqlState(error)).toBe('22021')
  })

  test('a placeholder without a value is refused before anything is sent', async () => {
    const { statements } = await recordStatements(database, () =>
      expect(everyKind(db, { text: '' })).rejects.toThrow(/json/),
    )
    expect(statements).toStrictEqual([])
  })
})

describe('the handle', () => {
  test('has no transaction, so an operation cannot be two statements by mistake', () => {
    expectTypeOf<Db>().not.toHaveProperty('transaction')
  })

  test('sends one statement for one call, without BEGIN or COMMIT', async () => {
    const { statements } = await recordStatements(database, () =>
      enqueue(db, { orchestratorId: newOrchestratorId(), payload: '{}' }),
    )
    expect(statements).toStrictEqual([expect.stringMatching(/^INSERT INTO dispatch_queue/)])
  })

  test('prepares statements under a name only on a direct pg connection', async () => {
    const named = async (choice: string) => {
      const { db } = database.open({ DISPATCH_POOL_SIZE: '1', DISPATCH_NAMED_STATEMENTS: choice })
      await everyKind(db, { text: '', json: '1' })
      const prepared = await db.execute<{ name: string }>(
        sql`SELECT name FROM pg_prepared_statements WHERE name LIKE 'test_%'`,
      )
      return { flag: db.namedStatements, prepared }
    }
    const isDirect = testDriver === 'pg'
    expect(await named('')).toMatchObject({
      flag: isDirect,
      prepared: { rows: isDirect ? [{ name: 'test_every_kind' }] : [] },
    })
    expect(await named('off')).toMatchObject({ flag: false, prepared: { rows: [] } })
  })
})
