import { sql } from 'drizzle-orm'
import type { Db } from '@/lib/db/client'
import { retryRead } from '@/lib/db/retry'
import { roles } from '@/lib/db/schema'
import { nullable, read, statement } from '@/lib/db/statement'
import type { Role } from '@/lib/queue/create-key'

export interface ValidKey {
  id: string
  keyHash: string
  role: Role
  orchestratorId: string | null
}

const readers = { id: read.text, keyHash: read.text, role: read.text, orchestratorId: nullable(read.text) }
const columns = sql.raw('id, key_hash, role, orchestrator_id')

const findKeyStatement = statement(
  'find_key',
  readers,
  sql`SELECT ${columns} FROM api_keys WHERE key_hash = ${sql.placeholder('keyHash')} AND revoked_at IS NULL`,
)
const findKeyByIdStatement = statement(
  'find_key_by_id',
  readers,
  sql`SELECT ${columns} FROM api_keys WHERE id = ${sql.placeholder('id')}::uuid AND revoked_at IS NULL`,
)

/** The key with this SHA-256, if it is issued and not revoked. */
export function findKey(db: Db, keyHash: string): Promise<ValidKey | undefined> {
  return retryRead(() => findKeyStatement(db, { keyHash })).then(firstKey)
}

/** The key with this id, if it is not revoked: for a session that was opened with it. */
export function findKeyById(db: Db, id: string): Promise<ValidKey | undefined> {
  return retryRead(() => findKeyByIdStatement(db, { id })).then(firstKey)
}

function firstKey([row]: { id: string; keyHash: string; role: string; orchestratorId: string | null }[]) {
  const role = roles.find((known) => known === row?.role)
  return row === undefined || role === undefined ? undefined : { ...row, role }
}
