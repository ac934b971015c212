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
  instant: (raw: unknown): Date => new Date(String(raw)),
  /** A jsonb column selected as `column::text`. */
  json: (raw: unknown): JsonText => new JsonText(String(raw)),
}

/** The same reader for a column that may be NULL; NULL is handed through without asking the reader. */
export const nullable = <T>(reader: Reader<T>): Reader<T | null> => reader

type Readers = Record<string, Reader<unknown>>
type Row<R extends Readers> = { [Key in keyof R]: R[Key] extends Reader<infer T> ? T : never }
type Prepared<R extends Readers> = PgPreparedQuery<PreparedQueryConfig & { execute: Row<R>[] }>

const dialect = new PgDialect()

/** Drizzle's own way from cells to objects asks of each cell what kind of column it is: an eighth of all JavaScript in a run of batches of 50. */
function prepare<R extends Readers>(db: Db, query: Query, readers: R, name?: string): Prepared<R> {
  const columns = Object.entries(readers)
  const toRow = (cells: readonly unknown[]): Row<R> =>
    Object.fromEntries(columns.map(([key, reader], place): unknown[] => [key, readCell(reader, cells[place])]))
  return db._.session.prepareQuery(query, undefined, name, true, (rows) => rows.map(toRow))
}

const readCell = (reader: Reader<unknown>, cell: unknown): unknown => (cell === null ? null : reader(cell))

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
