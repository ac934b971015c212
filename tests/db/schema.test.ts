import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { setUpDatabase } from '../support/db'
import { allRows, insertClaimed, insertFinished, insertWork, newOrchestratorId } from '../support/factories'

const { sql, connect } = await setUpDatabase()

const long = (length: number) => 'x'.repeat(length)

/** The name of the constraint that refuses, or 'accepted'. */
async function verdict(act: Promise<unknown>): Promise<string> {
  try {
    await act
    return 'accepted'
  } catch (error) {
    if (error instanceof Error && 'constraint' in error && typeof error.constraint === 'string') return error.constraint
    throw error
  }
}

describe('a plain INSERT of orchestrator_id and payload', () => {
  test('enqueues: due now, claimable by anyone, with the defaults', async () => {
    const [row] = await sql(
      `INSERT INTO dispatch_queue (orchestrator_id, payload) VALUES ($1, '{"issue": "LIN-7"}')
       RETURNING *, available_at = now() AS "isDue", created_at = now() AS "isNew"`,
      [newOrchestratorId()],
    )
    expect(row).toMatchObject({
      id: expect.any(Number),
      payload: { issue: 'LIN-7' },
      priority: 0,
      dedupe_key: null,
      attempts: 0,
      max_attempts: 3,
      isDue: true,
      isNew: true,
      claimed_at: null,
      claimed_by: null,
      claim_token: null,
      claim_timeout_ms: null,
      lease_ms: null,
      claim_expires_at: null,
      enqueue_id: null,
      payload_bytes: 18,
      progress: null,
      progress_note: null,
      last_error: null,
      attempt_log: [],
    })
  })

  test('counts the bytes of a payload in UTF-8, not its characters', async () => {
    const { queueId } = await insertWork(sql, { payload: '😀' })
    expect((await allRows(sql, queueId)).queue).toMatchObject([{ payload_bytes: 6 }])
  })
})

describe('a claim is whole or not at all', () => {
  test('a bare UPDATE of claimed_at, as typed into psql, is refused', async () => {
    const { queueId } = await insertWork(sql)
    const bare = sql('UPDATE dispatch_queue SET claimed_at = now(), attempts = attempts + 1 WHERE id = $1', [queueId])
    expect(await verdict(bare)).toBe('dispatch_queue_claim_is_whole')
    expect((await allRows(sql, queueId)).queue).toMatchObject([{ claimed_at: null, attempts: 0 }])
  })

  test.each(['claim_token', 'claim_expires_at', 'lease_ms'])('a claimed row without %s is refused', async (column) => {
    const { queueId } = await insertClaimed(sql)
    const act = sql(`UPDATE dispatch_queue SET ${column} = NULL WHERE id = $1`, [queueId])
    expect(await verdict(act)).toBe('dispatch_queue_claim_is_whole')
  })

  test('a row that is not claimed has no lease to run out', async () => {
    const { queueId } = await insertWork(sql)
    const act = sql('UPDATE dispatch_queue SET claim_expires_at = now() WHERE id = $1', [queueId])
    expect(await verdict(act)).toBe('dispatch_queue_claim_is_whole')
  })

  test('a swept claim keeps its token and lease, without claimed_at', async () => {
    const { queueId } = await insertClaimed(sql)
    const act = sql('UPDATE dispatch_queue SET claimed_at = NULL, claim_expires_at = NULL WHERE id = $1', [queueId])
    expect(await verdict(act)).toBe('accepted')
  })
})

describe('a value out of range is refused by the database itself', () => {
  test.each<[string, unknown[], unknown[]]>([
    ['dispatch_queue_id_range: id', [Number.MAX_SAFE_INTEGER], [0, -1, '9007199254740992']],
    ['dispatch_orchestrator_id_length: orchestrator_id', [long(200)], ['', long(201)]],
    ['dispatch_machine_id_length: claimed_by', [long(200), null], ['', long(201)]],
    ['dispatch_dedupe_key_length: dedupe_key', [long(256), null], ['', long(257)]],
    ['dispatch_progress_note_length: progress_note', ['', long(1_000)], [long(1_001)]],
    ['dispatch_error_length: last_error', ['', '😀'.repeat(10_000)], [long(10_001)]],
    ['dispatch_priority_range: priority', [-1_000, 1_000], [-1_001, 1_001]],
    ['dispatch_attempts_range: attempts', [0, 1_000_000], [-1, 1_000_001]],
    ['dispatch_max_attempts_range: max_attempts', [1, 100], [0, 101]],
    ['dispatch_progress_range: progress', [0, 100, null], [-1, 101]],
    ['dispatch_lease_ms_range: lease_ms', [1_000, 86_400_000, null], [999, 86_400_001]],
    ['dispatch_lease_ms_range: claim_timeout_ms', [1_000, 86_400_000, null], [999, 86_400_001]],
    ['dispatch_attempt_log_is_list: attempt_log', ['[]', '[{}]'], ['{}', 'null', '"text"']],
  ])('%s', async (title, accepted, refused) => {
    const [constraint, column] = title.split(': ')
    const set = async (value: unknown) => {
      const { queueId } = await insertWork(sql)
      return verdict(sql(`UPDATE dispatch_queue SET ${column} = $2 WHERE id = $1`, [queueId, value]))
    }
    for (const value of accepted) expect([value, await set(value)]).toStrictEqual([value, 'accepted'])
    for (const value of refused) expect([value, await set(value)]).toStrictEqual([value, constraint])
  })

  test('history knows three outcomes', async () => {
    for (const outcome of ['completed', 'failed', 'cancelled'] as const) {
      expect(await verdict(insertFinished(sql, { outcome }))).toBe('accepted')
    }
    const { queueId } = await insertFinished(sql)
    const act = sql(`UPDATE dispatch_history SET outcome = 'done' WHERE id = $1`, [queueId])
    expect(await verdict(act)).toBe('dispatch_history_outcome_known')
  })

  test.each<[string, string, unknown[]]>([
    ['dispatch_orchestrator_id_length', 'INSERT INTO machines VALUES ($1, $2)', ['', 'm']],
    ['dispatch_machine_id_length', 'INSERT INTO machines VALUES ($1, $2)', ['o', long(201)]],
    ['api_keys_role_known', keyInsert(), ['n', 'root', 'o', hash()]],
    ['api_keys_orchestrator_is_bound', keyInsert(), ['n', 'orchestrator', null, hash()]],
    ['api_keys_name_length', keyInsert(), ['', 'admin', null, hash()]],
    ['api_keys_hash_is_sha256', keyInsert(), ['n', 'admin', null, 'dk_the-key-itself']],
  ])('%s', async (constraint, text, params) => {
    expect(await verdict(sql(text, params))).toBe(constraint)
  })
})

function keyInsert(): string {
  return `INSERT INTO api_keys (name, role, orchestrator_id, key_hash, prefix) VALUES ($1, $2, $3, $4, 'dk_')`
}

function hash(): string {
  return randomUUID().replaceAll('-', '').repeat(2)
}

describe('keys that must be one of a kind', () => {
  test('a dedupe key is free for another orchestrator, and taken for its own', async () => {
    const row = await insertWork(sql, { dedupeKey: 'k' })
    expect(await verdict(insertWork(sql, { dedupeKey: 'k' }))).toBe('accepted')
    const same = insertWork(sql, { orchestratorId: row.orchestratorId, dedupeKey: 'k' })
    expect(await verdict(same)).toBe('dispatch_queue_dedupe_key')
  })

  test('an enqueue id is taken once for its orchestrator', async () => {
    const enqueueId = randomUUID()
    const row = await insertWork(sql, { enqueueId })
    const same = insertWork(sql, { orchestratorId: row.orchestratorId, enqueueId })
    expect(await verdict(same)).toBe('dispatch_queue_enqueue_id')
  })

  test('rows without keys are as many as there are', async () => {
    const { orchestratorId } = await insertWork(sql)
    expect(await verdict(insertWork(sql, { orchestratorId }))).toBe('accepted')
  })
})

describe('the tables', () => {
  const inOurTables = `table_schema = 'public'`

  test('know no instant without a zone', async () => {
    const columns = await sql(
      `SELECT table_name, column_name FROM information_schema.columns
        WHERE ${inOurTables} AND data_type IN ('timestamp without time zone', 'date', 'time without time zone')`,
    )
    expect(columns).toStrictEqual([])
  })

  test('count ids in 64 bits, sequence and columns alike', async () => {
    const ids =
      await sql(`SELECT DISTINCT data_type FROM information_schema.columns WHERE ${inOurTables} AND column_name = 'id'
                              AND table_name LIKE 'dispatch_%'`)
    expect(ids).toStrictEqual([{ data_type: 'bigint' }])
    const sequences = await sql(`SELECT data_type::text FROM pg_sequences WHERE schemaname = 'public'`)
    expect(sequences).toStrictEqual([{ data_type: 'bigint' }])
  })

  test('keep a heartbeat out of every index, so that it is a heap-only update', async () => {
    const indexed = await sql(
      `SELECT indexdef FROM pg_indexes WHERE tablename = 'dispatch_queue' AND indexdef ~ 'claim_expires_at|progress'`,
    )
    expect(indexed).toStrictEqual([])
    const { queueId } = await insertClaimed(sql)
    const client = await connect()
    await client.query('BEGIN')
    await client.query(
      `UPDATE dispatch_queue SET claim_expires_at = now() + interval '1 minute', progress = 7, progress_note = 'tests' WHERE id = $1`,
      [queueId],
    )
    const { rows } = await client.query(
      `SELECT n_tup_upd AS updates, n_tup_hot_upd AS hot FROM pg_stat_xact_user_tables WHERE relname = 'dispatch_queue'`,
    )
    await client.query('COMMIT')
    expect(rows).toStrictEqual([{ updates: 1, hot: 1 }])
  })

  test('are stored as a queue and as a log should be', async () => {
    const stored = await sql<{ name: string; options: string[] }>(
      `SELECT relname AS name, reloptions AS options FROM pg_class WHERE relname IN ('dispatch_queue', 'dispatch_history') ORDER BY 1`,
    )
    expect(stored).toStrictEqual([
      {
        name: 'dispatch_history',
        options: expect.arrayContaining([
          'autovacuum_vacuum_insert_scale_factor=0.05',
          'autovacuum_vacuum_cost_delay=0',
        ]),
      },
      {
        name: 'dispatch_queue',
        options: expect.arrayContaining([
          'fillfactor=70',
          'autovacuum_vacuum_scale_factor=0.01',
          'autovacuum_vacuum_cost_delay=0',
        ]),
      },
    ])
  })
})
