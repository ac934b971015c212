import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { commandLine, isAlive, isListed, signal, waitUntil } from '@/lib/process/processes'

interface Postmaster {
  readonly pid: number
  readonly directory: string
  /** Whether it says of itself that it accepts connections. */
  readonly isReady: boolean
}

/** What the running Postgres of a cluster, or the last one when it was killed, wrote about itself. */
export function readPostmasterFile(directory: string): Postmaster | undefined {
  try {
    const lines = readFileSync(path.join(directory, 'postmaster.pid'), 'utf8').split('\n')
    const pid = Number(lines[0])
    return pid > 0 ? { pid, directory: lines[1] ?? '', isReady: lines[7]?.trim() === 'ready' } : undefined
  } catch {
    return undefined
  }
}

const STEP_MS = 5_000

/**
 * Stops a Postgres that an earlier start left running on a cluster, and clears what it left behind. A running
 * one is stopped, not kept: its own watchdog may be about to stop it.
 *
 * @throws {Error} when a process runs there that may be a Postgres and will not end
 */
export async function clearPostmaster(directory: string): Promise<void> {
  const found = readPostmasterFile(directory)
  if (!found || !isListed(found.pid)) return
  if (isAlive(found.pid) && isPostmaster(found)) await stopPostmaster(found.pid, directory)
  // A killed process can stay listed until somebody reaps it, and Postgres then takes its file for a running server's.
  await waitUntil(() => !isListed(found.pid) || isReused(found), STEP_MS)
  if (readPostmasterFile(directory)?.pid === found.pid) rmSync(path.join(directory, 'postmaster.pid'), { force: true })
}

/** Where the command line cannot be read, a living process counts as Postgres: better refuse than have two on one cluster. */
function isPostmaster(found: Postmaster): boolean {
  const command = commandLine(found.pid)
  return command === undefined || (/postgres/.test(command) && `${command} `.includes(` -D ${found.directory} `))
}

function isReused(found: Postmaster): boolean {
  return isAlive(found.pid) && !isPostmaster(found)
}

async function stopPostmaster(pid: number, directory: string): Promise<void> {
  // Fast, immediate, and by force. After the last two Postgres replays its log at the next start; nothing committed is lost.
  for (const name of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    signal(pid, name)
    if (await waitUntil(() => !isAlive(pid), STEP_MS)) return
  }
  throw new Error(`Process ${pid} holds the database in ${directory} and does not end; stop it, then start again.`)
}
