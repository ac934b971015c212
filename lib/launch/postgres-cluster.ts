import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { PostgresBinaries } from '@/lib/launch/postgres-binaries'
import { canReach, type UserIds } from '@/lib/launch/unprivileged'

interface ClusterOptions {
  readonly directory: string
  readonly password: string
  readonly binaries: PostgresBinaries
  readonly user: UserIds | undefined
  readonly isFast: boolean
}

/**
 * Makes a database cluster in a directory, unless there is one. It appears there only when it is whole: a start that
 * is killed half-way leaves nothing that the next one would take for data.
 *
 * @throws {Error} when the user that Postgres runs under cannot reach the directory, or initdb fails
 */
export function createCluster(options: ClusterOptions): void {
  const { directory, user } = options
  makeParent(path.dirname(directory), user)
  if (isCluster(directory)) return
  const partial = `${directory}.new`
  const passwordFile = `${directory}.new-password`
  rmSync(partial, { recursive: true, force: true })
  try {
    mkdirSync(partial, { mode: 0o700 })
    writeFileSync(passwordFile, `${options.password}\n`, { mode: 0o600 })
    if (user) for (const file of [partial, passwordFile]) chownSync(file, user.uid, user.gid)
    initdb(options, partial, passwordFile)
  } finally {
    rmSync(passwordFile, { force: true })
  }
  renameSync(partial, directory)
}

function makeParent(parent: string, user: UserIds | undefined): void {
  mkdirSync(parent, { recursive: true, mode: 0o755 })
  if (canReach(parent, user)) return
  throw new Error(
    `Postgres cannot run as root, and user ${user?.uid}, which it runs as instead, cannot reach ${parent}.`,
  )
}

function isCluster(directory: string): boolean {
  const owner = statSync(directory, { throwIfNoEntry: false })?.uid
  if (owner !== undefined && process.getuid && process.getuid() !== 0 && owner !== process.getuid()) {
    throw new Error(
      `${directory} belongs to another user (${owner}): start as that user or as root, or choose another DISPATCH_DATA_DIR.`,
    )
  }
  return existsSync(path.join(directory, 'PG_VERSION'))
}

function initdb({ binaries, user, isFast }: ClusterOptions, directory: string, passwordFile: string): void {
  const args = [
    '-D',
    directory,
    '-U',
    'postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
  ]
  const result = spawnSync(binaries.initdb, isFast ? [...args, '--no-sync'] : args, {
    ...user,
    cwd: path.dirname(directory),
    encoding: 'utf8',
    windowsHide: true,
  })
  if (result.status === 0) return
  throw new Error(`Could not make a database in ${directory}: ${(result.error?.message ?? result.stderr).trim()}`)
}
