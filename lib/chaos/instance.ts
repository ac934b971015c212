import { closeSync, openSync } from 'node:fs'
import { environmentWith } from '@/lib/config'
import { untilAnswering } from '@/lib/launch/app-process'
import { freePort } from '@/lib/launch/free-port'
import { nextApp } from '@/lib/launch/next-app'
import { ROOT } from '@/lib/launch/root'
import { spawnWatched, type WatchedProcess } from '@/lib/launch/watched-process'

/** An instance of the built app, which can be killed and started again on its port. */
export interface Instance {
  readonly port: number
  /** Of the process that serves; undefined before it is known. */
  pid(): Promise<number | undefined>
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>
  /** Starts it again; resolves when it answers. */
  restart(): Promise<void>
  /** Stops it in order. */
  stop(): Promise<void>
}

/**
 * Starts an instance and resolves when it answers.
 *
 * @param log      the file that its own output is added to
 * @param settings its environment beyond this process's own
 * @param signal   aborts the waiting
 */
export async function startInstance(
  log: string,
  settings: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Instance> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  let running = run(port, log, settings)
  await untilAnswering(origin, signal)
  return {
    port,
    pid: () => running.pid,
    kill: async () => {
      const pid = await running.pid
      if (pid !== undefined && !running.hasExited()) process.kill(pid, 'SIGKILL')
      await running.exited
    },
    restart: async () => {
      running = run(port, log, settings)
      await untilAnswering(origin, signal)
    },
    stop: () => running.stop(),
  }
}

function run(port: number, log: string, settings: Readonly<Record<string, string>>): WatchedProcess {
  const app = nextApp('start')
  const output = openSync(log, 'a', 0o600)
  try {
    return spawnWatched(
      {
        command: process.execPath,
        args: app.args('127.0.0.1', port),
        stopBy: [
          { signal: 'SIGTERM', afterMs: 0 },
          { signal: 'SIGKILL', afterMs: 2_000 },
        ],
      },
      { output, cwd: ROOT, env: environmentWith({ ...app.environment, ...settings }) },
    )
  } finally {
    closeSync(output)
  }
}
