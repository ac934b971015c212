import type { Query, SQL } from 'drizzle-orm'
import { PgDialect, type PgPreparedQuery, type PreparedQueryConfig } from 'drizzle-orm/pg-core'
import type { Db } from '@/lib/db/client'
import { JsonText } from '@/lib/db/json-text'
import { retryConflicts } from '@/lib/db/retry'

/** Makes a value of what a driver gives for a column that is not NULL. */
export type Reader<T> = (raw: unknown) => T

/** How the columns of an answer are read, the same with both drivers (one gives bigint as text, the other too; instants come as text). */
export const read = {
  /** A bigint id. A CHECK keeps ids below 2^53, so the number is exact. */
  id: Number,
  number: Number,
  text: String,
  boolean: Boolean,
  /** A timestamptz as the API writes it: ISO 8601 in UTC with milliseconds. */
  instant: (raw: unknown): string => toIsoInstant(String(raw)),
  /** A jsonb column selected as `column::text`. */
  json: (raw: unknown): JsonText => new JsonText(String(raw)),
}

const IN_UTC = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/

// Postgres writes microseconds and the session's offset (manual, section 8.5.2). A Date on the way would cost a poll of twenty rows a twentieth of its time.
function toIsoInstant(text: string): string {
  const [, day, time, fraction = ''] = IN_UTC.exec(text) ?? []
  return day === undefined ? new Date(text).toISOString() : `${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
}

/** The same reader for a column that may be NULL; NULL is handed through without asking the reader. */
export const nullable = <T>(reader: Reader<T>): Reader<T | null> => reader

type Readers = Record<string, Reader<unknown>>
type Row<R extends Readers> = { [Key in keyof R]: R[Key] extends Reader<infer T> ? T : never }
type Prepared<R extends Readers> = PgPreparedQuery<PreparedQueryConfig & { execute: Row<R>[] }>

const dialect = new PgDialect()

/** Drizzle's own way from cells to objects asks of each cell what kind of column it is: an eighth of all JavaScript in a run of batches of 50. */
function prepare<R extends Readers>(db: Db, query: Query, readers: R, name?: string): Prepared<R> {
  const keys = Object.keys(readers)
  return db._.session.prepareQuery(query, undefined, name, true, (rows) =>
    rows.map((cells) => readRow(readers, keys, cells)),
  )
}

function readRow<R extends Readers>(readers: R, keys: readonly string[], cells: readonly unknown[]): Row<R>
function readRow(readers: Readers, keys: readonly string[], cells: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const [place, key] of keys.entries()) {
    const cell = cells[place]
    row[key] = cell === null ? null : readers[key]?.(cell)
  }
  return row
}

/**
 * One SQL statement, built once and prepared once per database handle.
 *
 * @param name    its name in Postgres, where the connection keeps prepared statements
 * @param readers the columns that it returns, in the order in which it returns them
 * @param query   its whole text; parameters are `sql.placeholder(name)`, and jsonb parameters are JSON text with a cast
 * @returns a function that runs it and gives its rows; a deadlock or serialization failure is tried again (see {@link retryConflicts})
 */
export function statement<R extends Readers>(
  name: string,
  readers: R,
  query: SQL,
): (db: Db, values: Record<string, unknown>) => Promise<Row<R>[]> {
  const built = dialect.sqlToQuery(query)
  const prepared = new WeakMap<Db, Prepared<R>>()

  return (db, values) => {
    let ready = prepared.get(db)
    if (ready === undefined) {
      ready = prepare(db, built, readers, db.namedStatements ? name : undefined)
      prepared.set(db, ready)
    }
    const { execute } = ready
    return retryConflicts(() => execute.call(ready, values))
  }
}

/** Runs a query whose text depends on its input, such as a list with optional filters. It must only read. */
export function query<R extends Readers>(db: Db, readers: R, text: SQL): Promise<Row<R>[]> {
  return prepare(db, dialect.sqlToQuery(text), readers).execute()
}
