/**
 * A program of its own: runs one command and stops it as soon as this program's standard input closes, which the
 * system does for us when the parent dies, by whatever death. Its one argument is a WatchedCommand as JSON; it writes
 * the command's process id to file descriptor 3.
 */
import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'
import { argv, exit, platform, stdin } from 'node:process'

export interface WatchedCommand {
  readonly command: string
  readonly args: readonly string[]
  /** Run as this user; only root may ask for it. */
  readonly uid?: number
  readonly gid?: number
  /** How to stop it: each signal in turn, so long after the stop was asked for, while the command still runs. */
  readonly stopBy: readonly { readonly signal: NodeJS.Signals; readonly afterMs: number }[]
}

const { command, args, stopBy, ...user }: WatchedCommand = JSON.parse(argv[2] ?? '{}')
// Detached: in a process group of its own, so that what it leaves behind can be found.
const child = spawn(command, args, {
  ...user,
  stdio: ['ignore', 'inherit', 'inherit'],
  detached: platform !== 'win32',
  windowsHide: true,
})
let isStopping = false

child.on('error', () => exit(127))
child.on('exit', (code) => {
  killGroup()
  exit(isStopping ? 0 : (code ?? 1))
})
stdin.on('end', stop).on('error', stop).resume()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop)
tellProcessId()

function stop(): void {
  if (isStopping) return
  isStopping = true
  for (const { signal, afterMs } of stopBy) setTimeout(() => child.kill(signal), afterMs)
}

/** Children that the command started and did not end itself. Postgres's are in groups of their own and see to themselves. */
function killGroup(): void {
  try {
    if (child.pid !== undefined && platform !== 'win32') process.kill(-child.pid, 'SIGKILL')
  } catch {
    // There are none.
  }
}

function tellProcessId(): void {
  try {
    if (child.pid !== undefined) writeSync(3, String(child.pid))
  } catch {
    // The parent is gone already; standard input says so too.
  }
}
