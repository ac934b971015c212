import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { WatchedCommand } from '@/lib/launch/watchdog'

/** A process that cannot outlive this one. */
export interface WatchedProcess {
  /** The command's process id, once it is known; undefined when it did not start. */
  readonly pid: Promise<number | undefined>
  /** Resolves when the command has ended, with its exit code (1 when a signal ended it). Never rejects. */
  readonly exited: Promise<number>
  hasExited(): boolean
  /** Stops the command the gentle way first; resolves when it is gone. May be called again. */
  stop(): Promise<void>
}

/**
 * Runs a command under the watchdog, so that it is stopped when this process dies, killed with SIGKILL included.
 * It gets a session of its own: a terminal's Ctrl-C reaches this process alone, which then stops things in order.
 *
 * @param options.output where the command's output goes: this process's own, or a file descriptor
 */
export function spawnWatched(
  command: WatchedCommand,
  options: { output: 'inherit' | number; cwd: string; env?: NodeJS.ProcessEnv },
): WatchedProcess {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
  const watchdog = fileURLToPath(new URL('./watchdog.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', tsx, watchdog, JSON.stringify(command)], {
    stdio: ['pipe', options.output, options.output, 'pipe'],
    cwd: options.cwd,
    ...(options.env && { env: options.env }),
    detached: true,
    windowsHide: true,
  })
  // The pipe breaks when the watchdog is killed; its exit says the same.
  child.stdin?.on('error', () => {})
  return watch(child)
}

function watch(child: ChildProcess): WatchedProcess {
  let isOver = false
  const exited = new Promise<number>((resolve) => {
    const finish = (code: number) => {
      isOver = true
      resolve(code)
    }
    child.once('exit', (code) => finish(code ?? 1)).once('error', () => finish(127))
  })
  const stop = async () => {
    child.stdin?.end()
    await exited
  }
  return { pid: readProcessId(child.stdio[3], exited), exited, hasExited: () => isOver, stop }
}

function readProcessId(from: unknown, exited: Promise<number>): Promise<number | undefined> {
  const told = new Promise<number>((resolve) => {
    if (!(from instanceof Readable)) return
    from.on('error', () => {})
    from.once('data', (data: Buffer) => {
      resolve(Number(data.toString()))
      from.destroy()
    })
  })
  return Promise.race([told, exited.then(() => undefined)])
}
