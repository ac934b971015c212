import { setTimeout as sleep } from 'node:timers/promises'
import pidusage from 'pidusage'
import { DispatchClient } from '@/lib/client/dispatch-client'
import { DispatchError } from '@/lib/client/dispatch-error'
import { type BenchApp, startApps } from '../app'
import { quantileOf } from '../own-database'
import type { BenchPostgres } from '../postgres'
import { atMost, type Outcome, once, type Scenario } from '../scenario'

/** The longest that a machine may ask for, and what the client's worker asks for. */
const WAIT_MS = 25_000
/** Two whole waits: each machine asks again twice meanwhile. */
const WATCHED_SECONDS = 50
const ENQUEUED = 100
const RETRY_MS = 200

/** Machines that wait for work on an instance, and ask again as soon as they are answered. */
class WaitingFleet {
  /** When each piece of work was claimed, by its id. */
  readonly claimedAt = new Map<number, number>()
  readonly #client: DispatchClient
  readonly #machines: { hangUp: AbortController; left: Promise<void> }[] = []

  constructor(app: BenchApp) {
    this.#client = new DispatchClient({ url: app.url, key: app.key })
  }

  /** Lets the machines come one by one over a whole wait, as a fleet that nobody started at once. */
  async join(count: number): Promise<void> {
    const startedAt = performance.now()
    for (let n = 0; n < count; n += 1) {
      const hangUp = new AbortController()
      this.#machines.push({ hangUp, left: this.#live(`machine-${n}`, hangUp.signal) })
      const early = startedAt + (n / count) * WAIT_MS - performance.now()
      if (early > 1) await sleep(early)
    }
    await sleep(1_000)
  }

  async leave(): Promise<void> {
    for (const { hangUp } of this.#machines) hangUp.abort()
    await Promise.all(this.#machines.map(({ left }) => left))
  }

  async #live(machineId: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const request = { orchestratorId: 'acme', machineId, waitMs: WAIT_MS }
        for (const { queueId } of await this.#client.claimNext(request, { signal }))
          this.claimedAt.set(queueId, performance.now())
      } catch (error) {
        if (!(error instanceof DispatchError) || !(error.isTransient || signal.aborted)) throw error
        await sleep(RETRY_MS)
      }
    }
  }
}

/** How many statements the instance has sent. */
async function statementsSent(postgres: BenchPostgres): Promise<number> {
  const [row] = await postgres.sql(
    'fleet',
    `SELECT sum(calls) AS n FROM pg_stat_statements
      WHERE dbid = (SELECT oid FROM pg_database WHERE datname = 'fleet') AND query NOT LIKE '%pg_stat_statements%'`,
  )
  return Number(row?.n)
}

async function waitIdly(postgres: BenchPostgres, machines: number): Promise<Outcome> {
  const [app] = await startApps(await postgres.createDatabase('fleet', 'dispatch'))
  if (app === undefined) throw new Error('There is no instance.')
  await postgres.sql('fleet', 'CREATE EXTENSION pg_stat_statements')
  const pid = await app.pid()
  await fetch(`${app.url}/api/health`)
  const alone = await pidusage(pid)
  const fleet = new WaitingFleet(app)
  try {
    await fleet.join(machines)
    const before = { count: await statementsSent(postgres), usage: await pidusage(pid) }
    await sleep(WATCHED_SECONDS * 1_000)
    const after = { count: await statementsSent(postgres), usage: await pidusage(pid) }
    const statements = (after.count - before.count) / WATCHED_SECONDS
    return {
      figures: {
        'statements per second': once(statements),
        'share of a processor, %': once(after.usage.cpu),
        'memory per machine, KiB': once((after.usage.memory - alone.memory) / machines / 1_024),
      },
      verdicts:
        machines > 1_000
          ? []
          : [atMost('statements per second', statements, 2), atMost('% of a processor', after.usage.cpu, 5)],
    }
  } finally {
    await fleet.leave()
    await app.stop()
  }
}

const waiting = (machines: number): Scenario => ({
  name: `waiting-${machines}`,
  title: `${machines.toLocaleString('en')} machines wait on one instance, and there is no work`,
  unit: '',
  run: (postgres) => waitIdly(postgres, machines),
})

/** From sending an enqueue until a machine has the claim, in milliseconds. */
async function enqueueToClaim(fleet: WaitingFleet, app: BenchApp): Promise<number[]> {
  const client = new DispatchClient({ url: app.url, key: app.key })
  const times: number[] = []
  for (let n = 0; n < ENQUEUED; n += 1) {
    const startedAt = performance.now()
    const { items } = await client.enqueue({ orchestratorId: 'acme', items: [{ payload: { issue: 'ENG-142' } }] })
    const queueId = items[0]?.queueId ?? 0
    while (!fleet.claimedAt.has(queueId)) await sleep(1)
    times.push((fleet.claimedAt.get(queueId) ?? 0) - startedAt)
    // Not in step with the second's tick.
    await sleep(Math.random() * 200)
  }
  return times
}

const wake: Scenario = {
  name: 'wake',
  title: 'from enqueue to claim, 1,000 machines waiting',
  unit: 'ms',
  run: async (postgres) => {
    const [near, far] = await startApps(await postgres.createDatabase('fleet', 'dispatch'), 2)
    if (near === undefined || far === undefined) throw new Error('There are no two instances.')
    const fleet = new WaitingFleet(near)
    try {
      await fleet.join(1_000)
      const same = await enqueueToClaim(fleet, near)
      const across = await enqueueToClaim(fleet, far)
      const p50 = quantileOf(same, 0.5)
      const p99 = quantileOf(across, 0.99)
      return {
        figures: {
          'same instance, p50': once(p50),
          'same instance, p99': once(quantileOf(same, 0.99)),
          'across instances, p50': once(quantileOf(across, 0.5)),
          'across instances, p99': once(p99),
        },
        verdicts: [atMost('ms, same instance, p50', p50, 30), atMost('ms, across instances, p99', p99, 1_500)],
      }
    } finally {
      await fleet.leave()
      await Promise.all([near.stop(), far.stop()])
    }
  },
}

export const fleet: readonly Scenario[] = [waiting(1_000), waiting(10_000), wake]
