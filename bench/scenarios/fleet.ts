import { setTimeout as sleep } from 'node:timers/promises'
import pidusage from 'pidusage'
import { z } from 'zod'
import { type BenchApp, startApps } from '../app'
import { quantileOf } from '../own-database'
import type { BenchPostgres } from '../postgres'
import { atMost, type Outcome, once, type Scenario } from '../scenario'

const WAIT_MS = 20_000
const WATCHED_SECONDS = 30
const ENQUEUED = 100

const answer = z.object({ claims: z.array(z.object({ queueId: z.number() })) })

/** Machines that wait for work on an instance, and ask again as soon as they are answered. */
class WaitingFleet {
  /** When each piece of work was claimed, by its id. */
  readonly claimedAt = new Map<number, number>()
  readonly #app: BenchApp
  readonly #over = new AbortController()
  #machines: Promise<void>[] = []

  constructor(app: BenchApp) {
    this.#app = app
  }

  /** Lets the machines come over a while, and gives them time to be waiting. */
  async join(count: number): Promise<void> {
    const BURST = 100
    for (let n = 0; n < count; n += BURST) {
      for (let own = n; own < Math.min(n + BURST, count); own += 1) this.#machines.push(this.#live(`machine-${own}`))
      await sleep(100)
    }
    await sleep(5_000)
  }

  async leave(): Promise<void> {
    this.#over.abort()
    await Promise.all(this.#machines)
  }

  async #live(machineId: string): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted) {
      try {
        const response = await fetch(`${this.#app.url}/api/claim/next`, {
          method: 'POST',
          headers: this.#app.headers,
          body: JSON.stringify({ orchestratorId: 'acme', machineId, waitMs: WAIT_MS }),
          signal,
        })
        for (const { queueId } of answer.parse(await response.json()).claims)
          this.claimedAt.set(queueId, performance.now())
      } catch (error) {
        if (!signal.aborted) throw error
      }
    }
  }
}

async function transactions(postgres: BenchPostgres): Promise<number> {
  const [row] = await postgres.sql('postgres', `SELECT xact_commit AS n FROM pg_stat_database WHERE datname = 'fleet'`)
  return Number(row?.n)
}

async function waitIdly(postgres: BenchPostgres, machines: number): Promise<Outcome> {
  const [app] = await startApps(await postgres.createDatabase('fleet', 'dispatch'))
  if (app === undefined) throw new Error('There is no instance.')
  const pid = await app.pid()
  await fetch(`${app.url}/api/health`)
  const alone = await pidusage(pid)
  const fleet = new WaitingFleet(app)
  try {
    await fleet.join(machines)
    const before = { count: await transactions(postgres), usage: await pidusage(pid) }
    await sleep(WATCHED_SECONDS * 1_000)
    const after = { count: await transactions(postgres), usage: await pidusage(pid) }
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
  const times: number[] = []
  for (let n = 0; n < ENQUEUED; n += 1) {
    const startedAt = performance.now()
    const response = await fetch(`${app.url}/api/enqueue`, {
      method: 'POST',
      headers: app.headers,
      body: JSON.stringify({ orchestratorId: 'acme', items: [{ payload: { issue: 'ENG-142' } }] }),
    })
    const { items } = z.object({ items: z.array(z.object({ queueId: z.number() })) }).parse(await response.json())
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
