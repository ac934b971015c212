import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Servers } from '@/lib/chaos/servers'

/** What is done to the servers while the fleet runs. */
export const serverFaults = [
  'instance-kills',
  'cut-connections',
  'pinned-horizons',
  'stalled-connections',
  'postgres-kills',
] as const
export type ServerFault = (typeof serverFaults)[number]

const PAUSE_MS = 2_000
const DOWN_MS = 1_500
/** Longer than any statement of the app may take, so that time limits strike too. */
const STALL_MS = 6_000
const PINNED_MS = 15_000

type Inject = (servers: Servers, signal: AbortSignal) => Promise<void>

const injections: Record<ServerFault, Inject> = {
  'instance-kills': async ({ instances }, signal) => {
    const instance = instances[Math.floor(Math.random() * instances.length)]
    await instance?.kill()
    await pause(DOWN_MS, signal)
    await instance?.restart()
  },
  'postgres-kills': async ({ database }, signal) => {
    const pid = database.postmasterPid()
    if (pid === undefined) return
    process.kill(pid, 'SIGKILL')
    await pause(DOWN_MS, signal)
    await untilQueryable(database.url)
  },
  'cut-connections': async ({ database }) => database.proxy.cut(),
  'stalled-connections': ({ database }, signal) => database.proxy.stall(STALL_MS, signal),
  'pinned-horizons': async ({ database }, signal) => {
    const client = new Client({ connectionString: database.url })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
      await client.query('SELECT count(*) FROM dispatch_queue')
      await pause(PINNED_MS, signal)
    } catch {
      // Postgres was killed under it: the next one pins again.
    } finally {
      await client.end().catch(() => {})
    }
  },
}

/**
 * Injects faults, each in turn, until the signal aborts. Resolves when everything runs again.
 *
 * @returns how often each was injected
 */
export async function injectServerFaults(
  servers: Servers,
  faults: readonly ServerFault[],
  signal: AbortSignal,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = Object.fromEntries(faults.map((fault) => [fault, 0]))
  let pinned: Promise<void> = Promise.resolve()
  for (let turn = 0; faults.length > 0 && !signal.aborted; turn += 1) {
    const fault = faults[turn % faults.length]
    await pause(PAUSE_MS, signal)
    if (fault === undefined || signal.aborted) break
    const injected = injections[fault](servers, signal)
    // The other faults go on under a pinned horizon.
    if (fault === 'pinned-horizons') pinned = Promise.all([pinned, injected]).then(() => {})
    else await injected
    counts[fault] = (counts[fault] ?? 0) + 1
  }
  await pinned
  await untilQueryable(servers.database.url)
  return counts
}

const pause = (forMs: number, signal: AbortSignal) => sleep(forMs, undefined, { signal }).catch(() => {})

async function untilQueryable(url: string): Promise<void> {
  for (;;) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
    client.on('error', () => {})
    const isUp = await client
      .connect()
      .then(() => client.query('SELECT 1'))
      .then(
        () => true,
        () => false,
      )
    await client.end().catch(() => {})
    if (isUp) return
    await sleep(100)
  }
}
