import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isAlive, waitUntil } from '@/lib/process/processes'
import {
  type AboutApp,
  ask,
  killIfThere,
  type Launcher,
  makeDirectory,
  processesIn,
  removeDirectory,
  startLauncher,
} from './launcher'

const INSERT = `insert into dispatch_queue (orchestrator_id, payload) values ('o', '"kept"')`
const READ = 'select payload from dispatch_queue'
const KEPT = [{ payload: 'kept' }]

let directory: string
let launcher: Launcher
let app: AboutApp

const start = async (env = {}) => {
  launcher = await startLauncher(directory, { env })
  app = await launcher.started()
}

beforeAll(async () => {
  directory = makeDirectory()
  await start()
  await ask(app.databaseUrl, INSERT)
})
afterAll(() => removeDirectory(directory))

describe('the next start has all data', () => {
  it('after kill -9 of the launcher, whose app and Postgres then end by themselves', async () => {
    killIfThere(launcher.pid)
    expect(await waitUntil(() => processesIn(directory).length === 0, 30_000)).toBe(true)
    await start()
    expect(await ask(app.databaseUrl, READ)).toEqual(KEPT)
  })

  it("when it comes right after kill -9, while the killed start's app and Postgres are still ending", async () => {
    killIfThere(launcher.pid)
    await start()
    expect(await ask(app.databaseUrl, READ)).toEqual(KEPT)
  })

  it('after kill -9 of launcher and watchdogs, and has ended the orphans, so that it can use the same port', async () => {
    const orphans = [app.pid, postmaster()]
    const watchdogs = processesIn(directory).filter(isWatchdog)
    expect(watchdogs).toHaveLength(2)
    for (const pid of [launcher.pid, ...watchdogs]) killIfThere(pid)
    expect(orphans.map(isAlive)).toEqual([true, true])
    await start({ PORT: String(launcher.port) })
    expect(await ask(app.databaseUrl, READ)).toEqual(KEPT)
    expect(orphans.map(isAlive)).toEqual([false, false])
  })

  it("after kill -9 of every process at once, Postgres's own included", async () => {
    for (const pid of processesIn(directory)) killIfThere(pid)
    await start()
    expect(await ask(app.databaseUrl, READ)).toEqual(KEPT)
  })
})

describe('a start goes on', () => {
  it('when Postgres is killed, as often as that happens: it comes back on the same URL with all data', async () => {
    for (const round of [1, 2]) {
      killIfThere(postmaster())
      await waitUntil(() => timesSaid('Postgres runs again.') === round, 60_000)
      expect(await ask(app.databaseUrl, READ)).toEqual(KEPT)
    }
    expect(timesSaid('Postgres has ended by itself; starting it again.')).toBe(2)
    expect(isAlive(app.pid)).toBe(true)
  })

  it("when Postgres's watchdog is killed: Postgres comes under a new one, on the same URL", async () => {
    const orphan = postmaster()
    killIfThere(processesIn(directory).find((pid) => isWatchdog(pid) && commandLine(pid).includes('/postgres"')) ?? 0)
    await waitUntil(() => timesSaid('Postgres runs again.') === 3, 60_000)
    expect(isAlive(orphan)).toBe(false)
    expect(await ask(app.databaseUrl, READ)).toEqual(KEPT)
    expect(isAlive(app.pid)).toBe(true)
  })

  it('until its app is killed: then it stops Postgres, says why and exits 1', async () => {
    killIfThere(app.pid)
    expect(await launcher.exited).toBe(1)
    expect(launcher.output()).toContain('The app has ended by itself, with exit code 1.\n')
    expect(processesIn(directory)).toEqual([])
  })
})

function postmaster(): number {
  return Number(readFileSync(path.join(directory, 'data', 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
}

function commandLine(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
}

function isWatchdog(pid: number): boolean {
  return commandLine(pid).includes('watchdog.ts')
}

function timesSaid(text: string): number {
  return launcher.output().split(text).length - 1
}
