import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Whether a process with this id runs. A killed one that nobody has reaped yet counts as gone. */
export function isAlive(pid: number): boolean {
  return isListed(pid) && !isZombie(pid)
}

/** Whether the system still lists this id, be it as a zombie. */
export function isListed(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
}

function isZombie(pid: number): boolean {
  return /^State:\s+[ZX]/m.test(readProc(`/proc/${pid}/status`) ?? '')
}

/** A process's command line, its words apart by spaces; undefined where it cannot be known. */
export function commandLine(pid: number): string | undefined {
  const words = readProc(`/proc/${pid}/cmdline`)
  if (words !== undefined) return words.replaceAll('\0', ' ').trim()
  return askPs(pid, 'command=')
}

/** When a process started, as an opaque text: a process that later gets the same id has another one. Undefined where it cannot be known. */
export function startStamp(pid: number): string | undefined {
  const ticksSinceBoot = statField(pid, 22)
  if (ticksSinceBoot === undefined) return askPs(pid, 'lstart=')
  const boot = readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
  return `${boot}/${ticksSinceBoot}`
}

/** The id of a process's parent; undefined where it cannot be known. */
export function parentOf(pid: number): number | undefined {
  const parent = statField(pid, 4) ?? askPs(pid, 'ppid=')
  return parent === undefined ? undefined : Number(parent)
}

/** A field of Linux's /proc/<pid>/stat, counted from 1 as its manual does; one after the second, which may hold spaces. */
function statField(pid: number, field: number): string | undefined {
  const stat = readProc(`/proc/${pid}/stat`)
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[field - 3]
}

/** Waits until a condition holds; says whether it did within the time. */
export async function waitUntil(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  for (const end = Date.now() + timeoutMs; !condition(); ) {
    if (Date.now() > end) return false
    await sleep(25)
  }
  return true
}

/** Sends a signal to a process that may have ended meanwhile. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}

/** The code of a system error (ENOENT, EACCES, …) or of Postgres's (28P01, …). */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

function readProc(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function askPs(pid: number, column: string): string | undefined {
  if (process.platform === 'win32' || process.platform === 'linux') return undefined
  return spawnSync('ps', ['-ww', '-o', column, '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() || undefined
}
