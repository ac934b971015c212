import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'

/** The ids of "nobody", who exists on every usual system. Postgres refuses to run as root. */
const NOBODY = 65_534

export interface UserIds {
  readonly uid: number
  readonly gid: number
}

/**
 * The ids that the Postgres of a cluster has to run under: none (this process's own) unless this process is root; then
 * those of the cluster's owner, or of "nobody" for a new one.
 */
export function postgresUser(cluster: string): UserIds | undefined {
  if (process.getuid?.() !== 0) return undefined
  const owner = statSync(cluster, { throwIfNoEntry: false })
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : { uid: NOBODY, gid: NOBODY }
}

/** Whether a user (undefined: this process's own) can walk into an existing directory. */
export function canReach(directory: string, user: UserIds | undefined): boolean {
  // By a shell, not by Node: changing the directory in spawn happens before the change of user.
  return (
    user === undefined || spawnSync('/bin/sh', ['-c', 'cd "$0"', directory], { ...user, stdio: 'ignore' }).status === 0
  )
}
