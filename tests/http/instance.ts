import { createHash, randomUUID } from 'node:crypto'
import type { DbConnection } from '@/lib/db/client'
import type { Role } from '@/lib/queue/create-key'
import { type Sql, setUpDatabase, type TestDatabase, type TestDatabaseOptions } from '../support/db'
import { newOrchestratorId } from '../support/factories'
import type { Send } from './answers'
import { sendHere } from './routes'

export const ADMIN_KEY = 'admin-key-of-the-tests'
export const CRON_SECRET = 'cron-secret-of-the-tests'

export interface Instance {
  database: TestDatabase
  sql: Sql
  /** Calls the exported handlers in this process. */
  send: Send
}

const shared: typeof globalThis & { dispatchQueueDb?: DbConnection } = globalThis

/**
 * Makes this process an instance of the app with a database of its own, for the whole test file. The settings are the
 * test database's, a silent log, an admin key and a cron secret, and `options.environment`.
 */
export async function setUpInstance(options: TestDatabaseOptions = {}): Promise<Instance> {
  const database = await setUpDatabase({ ...options, environment: appEnvironment(options.environment) })
  Object.assign(process.env, database.environment)
  shared.dispatchQueueDb = database.open()
  return { database, sql: database.sql, send: sendHere }
}

/** What an instance of the app is set to in tests, besides its database. */
export const appEnvironment = (changes: Readonly<Record<string, string>> = {}) => ({
  DISPATCH_ADMIN_KEY: ADMIN_KEY,
  CRON_SECRET,
  DISPATCH_LOG_LEVEL: 'silent',
  ...changes,
})

/** Stores an issued key, and gives the key itself. */
export async function insertKey(
  sql: Sql,
  role: Role,
  options: { orchestratorId?: string; isRevoked?: boolean } = {},
): Promise<string> {
  const key = `dq_${randomUUID()}`
  const hash = createHash('sha256').update(key).digest('hex')
  await sql(
    `INSERT INTO api_keys (name, role, orchestrator_id, key_hash, prefix, revoked_at)
     VALUES ('of a test', $1, $2, $3, 'dq_', CASE WHEN $4 THEN now() END)`,
    [role, options.orchestratorId ?? null, hash, options.isRevoked ?? false],
  )
  return key
}

/** An orchestrator that no other test has, and its key. */
export async function newOrchestrator(sql: Sql): Promise<{ orchestratorId: string; key: string }> {
  const orchestratorId = newOrchestratorId()
  return { orchestratorId, key: await insertKey(sql, 'orchestrator', { orchestratorId }) }
}

/** Everything that is stored, but for when keys were last used and machines last seen; compare it before and after. */
export async function everyRow(sql: Sql): Promise<unknown[]> {
  return sql(
    `SELECT place, left(row, 1000) AS row, md5(row) FROM (
       SELECT 'queue' AS place, to_jsonb(t)::text AS row FROM dispatch_queue t
       UNION ALL SELECT 'history', to_jsonb(t)::text FROM dispatch_history t
       UNION ALL SELECT 'keys', (to_jsonb(t) - 'last_used_at')::text FROM api_keys t
       UNION ALL SELECT 'machines', (to_jsonb(t) - 'last_seen_at')::text FROM machines t
     ) AS everything ORDER BY place, md5`,
  )
}
