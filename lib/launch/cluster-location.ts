import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { SYSTEM_DIRECTORY } from '@/lib/launch/system-directory'
import { canReach, postgresUser } from '@/lib/launch/unprivileged'

/**
 * Where the Postgres cluster of a data directory is: inside it, or, where the user that Postgres runs under cannot
 * reach it, under /var/lib, with a file in the data directory that says where. Once chosen it stays.
 */
export function clusterDirectory(dataDirectory: string): string {
  const inside = path.join(dataDirectory, 'postgres')
  const pointer = path.join(dataDirectory, 'postgres-location')
  if (existsSync(pointer)) return readFileSync(pointer, 'utf8').trim()
  if (existsSync(inside) || canReach(dataDirectory, postgresUser(inside))) return inside
  const elsewhere = path.join(SYSTEM_DIRECTORY, nameFor(dataDirectory), 'postgres')
  mkdirSync(path.dirname(elsewhere), { recursive: true, mode: 0o755 })
  writeFileSync(pointer, `${elsewhere}\n`)
  return elsewhere
}

function nameFor(dataDirectory: string): string {
  const directory = realpathSync(dataDirectory)
  const place = path.basename(path.dirname(directory)).replace(/[^\w-]+/g, '_')
  return `${place}-${createHash('sha256').update(directory).digest('hex').slice(0, 16)}`
}
