import { answerWhenWork } from '@/lib/http/answer-when-work'
import { carryPastResponse } from '@/lib/http/background'
import { MAX_ANSWER_BYTES } from '@/lib/http/json'
import type { Call } from '@/lib/http/route'
import { noteMachine } from '@/lib/instance/machine-notes'
import { maybeSweepStale } from '@/lib/instance/maybe-sweep-stale'
import { waitingRoom } from '@/lib/instance/waiting-room'
import { type PollAnswer, type PollInput, poll } from '@/lib/queue/poll'

/** The header in which a client names its version. */
const VERSION_HEADER = 'dispatch-client-version'
const VERSION_MAX_LENGTH = 50
const DEFAULT_LIMIT = 20

interface Machine {
  orchestratorId: string
  machineId?: string | undefined
}

/** What everyone who asks for work sets going as the request arrives, and never waits for: the sweep, and the note that the machine was seen. */
export function announce({ db, config, input, headers }: Call<Machine, unknown>): void {
  carryPastResponse(maybeSweepStale(db, config))
  if (input.machineId === undefined) return
  const version = headers.get(VERSION_HEADER)?.slice(0, VERSION_MAX_LENGTH) ?? null
  carryPastResponse(noteMachine(db, { orchestratorId: input.orchestratorId, machineId: input.machineId, version }))
}

type PollCall = Call<
  Machine & Pick<PollInput, 'holding'> & { limit?: number | undefined; waitMs?: number | undefined },
  unknown
>

const nothing: PollAnswer = { queued: [], held: [], renewed: [], lost: [] }

/**
 * Answers a poll, which may wait for work.
 *
 * @param isForWork whether only queued work ends the wait (GET), or what the machine has to know of its claims too (POST)
 */
export async function answerPoll(call: PollCall, isForWork: boolean): Promise<PollAnswer & { pollAfterMs: number }> {
  announce(call)
  const { db, config, input } = call
  const answer = await answerWhenWork(call, {
    look: () => poll(db, { ...input, limit: input.limit ?? DEFAULT_LIMIT, maxBytes: MAX_ANSWER_BYTES }),
    isEnough: ({ queued, held, lost }) => queued.length > 0 || (!isForWork && held.length + lost.length > 0),
    nothing: (input.holding ?? []).length === 0 ? nothing : undefined,
    isForHeld: !isForWork,
  })
  const isTurnedAway = (input.waitMs ?? 0) > 0 && waitingRoom(db, config).isFull
  return { ...answer, pollAfterMs: pollAfterMs(answer.queued.length, isTurnedAway) }
}

/** How long a machine should wait before it polls again, in milliseconds: short while there is work, long where too many wait. */
function pollAfterMs(queued: number, isTurnedAway: boolean): number {
  if (queued > 0) return 1_000
  return isTurnedAway ? 15_000 : 5_000
}
