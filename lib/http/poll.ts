import { carryPastResponse } from '@/lib/http/background'
import type { Call } from '@/lib/http/route'
import { maybeNoteMachine } from '@/lib/instance/maybe-note-machine'
import { maybeSweepStale } from '@/lib/instance/maybe-sweep-stale'

/** The header in which a client names its version. */
const VERSION_HEADER = 'dispatch-client-version'
const VERSION_MAX_LENGTH = 50

/** What every poll sets going as it arrives, and never waits for: the sweep, and the note that the machine was seen. */
export function announcePoll({
  db,
  config,
  input,
  headers,
}: Call<{ orchestratorId: string; machineId?: string | undefined }, unknown>) {
  carryPastResponse(maybeSweepStale(db, config))
  if (input.machineId === undefined) return
  const version = headers.get(VERSION_HEADER)?.slice(0, VERSION_MAX_LENGTH) ?? null
  carryPastResponse(maybeNoteMachine(db, { orchestratorId: input.orchestratorId, machineId: input.machineId, version }))
}

/** How long a machine should wait before it polls again, in milliseconds: short while there is work. */
export const pollAfterMs = (queued: number): number => (queued > 0 ? 1_000 : 5_000)
