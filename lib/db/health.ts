import { sql } from 'drizzle-orm'
import journal from '@/drizzle/meta/_journal.json' with { type: 'json' }
import type { Db } from '@/lib/db/client'
import { sqlState } from '@/lib/db/errors'
import { query, read } from '@/lib/db/statement'
import manifest from '@/package.json' with { type: 'json' }

export interface Health {
  ok: boolean
  database: 'ok' | 'unreachable'
  migrations: 'current' | 'pending' | 'unknown'
  version: string
}

const UNDEFINED_TABLE = '42P01'
const newest = Math.max(...journal.entries.map((entry) => entry.when))

/**
 * Asks the database whether it answers and whether this release's migrations have run. It never rejects.
 *
 * @param open gives the database, and may throw where none is set
 */
export async function checkHealth(open: () => Db): Promise<Health> {
  const { version } = manifest
  try {
    const [row] = await query(
      open(),
      { newest: read.number },
      sql`SELECT max(created_at) FROM drizzle.__drizzle_migrations`,
    )
    const isCurrent = (row?.newest ?? 0) >= newest
    return { ok: isCurrent, database: 'ok', migrations: isCurrent ? 'current' : 'pending', version }
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return { ok: false, database: 'ok', migrations: 'pending', version }
    return { ok: false, database: 'unreachable', migrations: 'unknown', version }
  }
}
