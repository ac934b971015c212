import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { clusterDirectory } from '@/lib/launch/cluster-location'
import { keepSecret } from '@/lib/launch/secret-file'
import { tryLock } from '@/lib/process/file-lock'
import { isElsewhere } from '@/lib/process/process-identity'

export interface DataDirectory {
  readonly path: string
  /** Where the Postgres cluster is: in here, or where Postgres's user can reach it. */
  readonly cluster: string
  readonly postgresLog: string
  readonly postgresPassword: string
  readonly adminKeyFile: string
  /** Tells the next start which app to look for, should this one be killed. */
  readonly appFile: string
  release(): void
}

/**
 * Takes a data directory for this process, and makes it when there is none.
 *
 * @throws {Error} with a sentence that names the holder when another start has it
 */
export async function openDataDirectory(directory: string): Promise<DataDirectory> {
  const root = path.resolve(directory)
  // Others may pass through, which Postgres's user has to, but not look around.
  if (!existsSync(root)) mkdirSync(root, { recursive: true, mode: 0o711 })
  const release = await lock(root)
  try {
    return {
      path: root,
      cluster: clusterDirectory(root),
      postgresLog: path.join(root, 'postgres.log'),
      postgresPassword: keepSecret(path.join(root, 'postgres-password')),
      adminKeyFile: path.join(root, 'admin-key'),
      appFile: path.join(root, 'app-process'),
      release,
    }
  } catch (error) {
    release()
    throw error
  }
}

async function lock(root: string): Promise<() => void> {
  const file = path.join(root, 'lock')
  const attempt = await tryLock(file)
  if ('release' in attempt) return attempt.release
  const { heldBy } = attempt
  if (!isElsewhere(heldBy))
    throw new Error(`${root} is in use by another start: process ${heldBy.pid}. Stop that one first.`)
  throw new Error(
    `${root} is in use by a start on another host or container: process ${heldBy.pid} on ${heldBy.host}. If that one is gone, remove ${file}.`,
  )
}
