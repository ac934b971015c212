import type { DispatchClient } from '@/lib/client/dispatch-client'
import { DispatchError } from '@/lib/client/dispatch-error'
import { sleep } from '@/lib/client/sleep'
import type { FaultCounts } from '@/lib/prove/faults'
import type { Held, Recorder } from '@/lib/prove/recorder'

export interface MachineOptions {
  client: DispatchClient
  orchestratorId: string
  machineId: string
  /** How long it waits where there is no work. */
  waitMs: number
  leaseMs: number
  faults: ReadonlySet<string>
  counts: FaultCounts
  recorder: Recorder
  /** By how much the machine's clock is wrong, in milliseconds. */
  clockErrorMs: number
  /** Aborts when all is over. */
  signal: AbortSignal
}

const DEATH = 0.03
const PAUSE = 0.03
const MAX_BATCH = 5

/** Lives like a worker machine, and badly: takes work in every way there is, dies with it, sleeps past its leases, comes back. */
export async function liveAsMachine(options: MachineOptions): Promise<void> {
  while (!options.signal.aborted) {
    try {
      await turn(options)
    } catch (error) {
      if (!(error instanceof DispatchError)) throw error
      // A refusal and a missing answer are part of the life; the next turn finds out.
      await sleep(100 + Math.random() * 400, options.signal)
    }
  }
}

const chance = (share: number) => Math.random() < share

async function turn(options: MachineOptions): Promise<void> {
  const held = await take(options)
  for (const each of held) {
    if (options.signal.aborted) return
    if (options.faults.has('deaths') && chance(DEATH)) {
      options.counts.deaths += 1
      // Dead for a while, with all it had; the next life finds what it held, if nobody else has it.
      return sleep(Math.random() * 2 * options.leaseMs, options.signal)
    }
    if (options.faults.has('pauses') && chance(PAUSE)) {
      options.counts.pauses += 1
      await sleep(options.leaseMs * (1 + Math.random()), options.signal)
    }
    if (isDroppedByClock(each, options)) return
    await workOn(each, options)
  }
}

/** A badly written client compares the lease's end with its own clock: one that is fast drops good work, one that is slow works on late. */
function isDroppedByClock({ expiresAt }: Held, { faults, counts, clockErrorMs }: MachineOptions): boolean {
  if (!faults.has('wrong-clocks') || clockErrorMs === 0) return false
  const isDropped = Date.now() + clockErrorMs > expiresAt
  if (isDropped || Date.now() > expiresAt) counts['wrong-clocks'] += 1
  return isDropped
}

async function take(options: MachineOptions): Promise<Held[]> {
  const { client, orchestratorId, machineId, leaseMs, waitMs, recorder } = options
  if (chance(0.4)) {
    const limit = 1 + Math.floor(Math.random() * MAX_BATCH)
    return recorder.next({ machineId, limit, isAlone: false }, () =>
      client.claimNext({ orchestratorId, machineId, limit, claimTimeoutMs: leaseMs, waitMs }),
    )
  }
  const { queued, held } = await recorder.timed('poll', () =>
    client.poll({ orchestratorId, machineId, limit: 10, waitMs }),
  )
  const won: Held[] = []
  for (const { queueId, claimToken } of held) {
    const previous = { queueId, previousToken: claimToken }
    const resumed = await recorder.claim({ machineId, ...previous }, (token) =>
      client.claim({ orchestratorId, machineId, claimTimeoutMs: leaseMs, claimToken: token, ...previous }),
    )
    if (resumed) won.push(resumed)
  }
  for (const { queueId } of queued.slice(0, 3)) {
    const claimed = await recorder.claim({ machineId, queueId }, (token) =>
      client.claim({ orchestratorId, machineId, queueId, claimTimeoutMs: leaseMs, claimToken: token }),
    )
    if (claimed) won.push(claimed)
  }
  return won
}

async function workOn({ queueId, token }: Held, options: MachineOptions): Promise<void> {
  const { client, orchestratorId, machineId, leaseMs, recorder, signal } = options
  const own = { orchestratorId, queueId, claimToken: token }
  const entry = { machineId, queueId, token }
  if (chance(0.3)) {
    await sleep(Math.random() * leaseMs * 0.3, signal)
    const isMine = await recorder.renewal(entry, () => client.heartbeat({ ...own, progress: 50 }))
    if (!isMine) return
  }
  const dice = Math.random()
  if (dice < 0.85) return recorder.settlement('completed', entry, () => client.complete({ ...own, result: machineId }))
  if (dice < 0.93)
    return recorder.settlement('failed', entry, () => client.fail({ ...own, error: 'on purpose', retryDelayMs: 0 }))
  return recorder.settlement('released', entry, () => client.release(own))
}
