import { type SQL, sql } from 'drizzle-orm'
import { PgDialect, type PgPreparedQuery, type PreparedQueryConfig } from 'drizzle-orm/pg-core'
import type { Db } from '@/lib/db/client'
import { JsonText } from '@/lib/db/json-text'
import { retryConflicts } from '@/lib/db/retry'

/** How the columns of an answer are read, the same with both drivers (one gives bigint as text, the other too; instants come as text). */
export const read = {
  /** A bigint id. A CHECK keeps ids below 2^53, so the number is exact. */
  id: sql<number>``.mapWith(Number),
  number: sql<number>``.mapWith(Number),
  text: sql<string>``.mapWith(String),
  boolean: sql<boolean>``.mapWith(Boolean),
  instant: sql<Date>``.mapWith((text: string) => new Date(text)),
  /** A jsonb column selected as `column::text`. */
  json: sql<JsonText>``.mapWith((text: string) => new JsonText(text)),
}

/** The same reader for a column that may be NULL; drizzle hands NULL through without asking the reader. */
export const nullable = <T>(reader: SQL<T>): SQL<T | null> => reader

type Readers = Record<string, SQL>
type Row<R extends Readers> = { [Key in keyof R]: R[Key] extends SQL<infer T> ? T : never }

const dialect = new PgDialect()

const fieldsOf = (readers: Readers) => Object.entries(readers).map(([key, field]) => ({ path: [key], field }))

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
  const fields = fieldsOf(readers)
  const prepared = new WeakMap<Db, PgPreparedQuery<PreparedQueryConfig & { execute: Row<R>[] }>>()

  return (db, values) => {
    let ready = prepared.get(db)
    if (ready === undefined) {
      ready = db._.session.prepareQuery(built, fields, db.namedStatements ? name : undefined, true)
      prepared.set(db, ready)
    }
    const { execute } = ready
    return retryConflicts(() => execute.call(ready, values))
  }
}

/** Runs a query whose text depends on its input, such as a list with optional filters. It must only read. */
export function query<R extends Readers>(db: Db, readers: R, text: SQL): Promise<Row<R>[]> {
  const built = dialect.sqlToQuery(text)
  return db._.session
    .prepareQuery<PreparedQueryConfig & { execute: Row<R>[] }>(built, fieldsOf(readers), undefined, true)
    .execute()
}
