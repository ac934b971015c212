import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { environmentWith } from '@/lib/config'
import { ROOT } from '@/lib/launch/root'
import { spawnWatched, type WatchedProcess } from '@/lib/launch/watched-process'
import { identityOf, isElsewhere, isStillRunning, parseIdentity } from '@/lib/process/process-identity'
import { signal, waitUntil } from '@/lib/process/processes'

/** A program that serves HTTP, run by this process's own Node. */
export interface App {
  /** The program and its arguments for an address. */
  args(host: string, port: number): readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** What has to be done before it can run. */
  prepare(signal: AbortSignal): Promise<void>
}

/** Starts the app. Asked to stop, it has two seconds to finish what it is answering. */
export function startApp(
  app: App,
  address: { host: string; port: number },
  settings: Record<string, string>,
): WatchedProcess {
  return spawnWatched(
    {
      command: process.execPath,
      args: app.args(address.host, address.port),
      stopBy: [
        { signal: 'SIGTERM', afterMs: 0 },
        { signal: 'SIGKILL', afterMs: 2_000 },
      ],
    },
    { output: 'inherit', cwd: ROOT, env: environmentWith({ ...app.environment, ...settings }) },
  )
}

/** Resolves as soon as anything answers HTTP at the origin; whatever it says, it is up. */
export async function untilAnswering(origin: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const isUp = await fetch(`${origin}/api/health`, { signal: AbortSignal.timeout(10_000) }).then(
      async (response) => {
        await response.body?.cancel()
        return true
      },
      () => false,
    )
    if (isUp) return
    await sleep(100)
  }
}

/** Notes an app's process in a file, for the next start to find should this one and its watchdogs be killed. */
export async function noteApp(file: string, app: WatchedProcess): Promise<void> {
  const pid = await app.pid
  if (pid !== undefined) writeFileSync(file, JSON.stringify(identityOf(pid)))
}

/** Ends an app that an earlier start noted in the file and that runs still. @returns whether there was one */
export async function endNotedApp(file: string): Promise<boolean> {
  const noted = parseIdentity(read(file))
  const isOrphan = noted?.startedAt !== undefined && !isElsewhere(noted) && isStillRunning(noted)
  if (isOrphan) {
    for (const [name, patienceMs] of [
      ['SIGTERM', 2_000],
      ['SIGKILL', 10_000],
    ] as const) {
      if (!isStillRunning(noted)) break
      signal(noted.pid, name)
      await waitUntil(() => !isStillRunning(noted), patienceMs)
    }
  }
  forgetApp(file)
  return isOrphan
}

/** Removes the note of an app that is gone. */
export function forgetApp(file: string): void {
  rmSync(file, { force: true })
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
