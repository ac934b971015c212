import type { Call } from '@/lib/http/route'
import { waitingRoom } from '@/lib/instance/waiting-room'

interface Search<Answer> {
  /** Looks in the database. */
  look: () => Promise<Answer>
  /** Whether an answer ends the wait. */
  isEnough: (answer: Answer) => boolean
  /** What is answered without a look where it is known that there is nothing; undefined: the first look must not be left out. */
  nothing: Answer | undefined
  /** The wait ends when the machine turns out to hold claims. */
  isForHeld: boolean
}

type WaitingCall = Call<
  { orchestratorId: string; machineId?: string | undefined; waitMs?: number | undefined },
  unknown
>

/**
 * Answers as soon as there is work, or when `waitMs` are over. Meanwhile it holds no connection and asks nothing. Where the
 * orchestrator was seen empty a moment ago, even the first look is left out: an idle fleet costs one statement a second.
 */
export async function answerWhenWork<Answer>(call: WaitingCall, search: Search<Answer>): Promise<Answer> {
  const { orchestratorId, machineId, waitMs = 0 } = call.input
  const room = waitingRoom(call.db, call.config)
  const deadline = performance.now() + waitMs
  const isFutile = waitMs > 0 && search.nothing !== undefined && !room.isFull && room.isKnownEmpty(orchestratorId)
  let answer: Answer | undefined = isFutile ? undefined : await search.look()
  while (answer === undefined || !search.isEnough(answer)) {
    const remainingMs = deadline - performance.now()
    if (remainingMs <= 0) break
    const { isOver, holdsNothing } = await room.wait(
      { orchestratorId, machineId, isForHeld: search.isForHeld },
      remainingMs,
      call.signal,
    )
    if (isOver && holdsNothing) answer ??= search.nothing
    if (isOver) break
    answer = await search.look()
  }
  return answer ?? search.look()
}
