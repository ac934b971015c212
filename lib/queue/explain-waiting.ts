interface WaitingFacts {
  state: string
  orchestratorId: string
  claimedBy: string | null
  claimExpiresAt: string | null
  availableAt: string
  finishedAt: string | null
  attempts: number
  maxAttempts: number
  lastError: string | null
  /** Claimable rows of the same orchestrator that come first. */
  ahead: number
  isAheadCapped: boolean
  machineSeenAt: string | null
  /** A machine of the orchestrator was seen within two minutes. */
  isMachineRecent: boolean
}

const at = (instant: string | null) => instant ?? 'an unknown time'

/** Says in a sentence why nobody has claimed a piece of work, or who has. */
export function explainWaiting(work: WaitingFacts): string {
  const holder = work.claimedBy === null ? 'a machine that gave no name' : `machine ${work.claimedBy}`
  switch (work.state) {
    case 'scheduled':
      return work.lastError === null
        ? `It is not due until ${at(work.availableAt)}.`
        : `Attempt ${work.attempts} of ${work.maxAttempts} failed; it is due again at ${at(work.availableAt)}.`
    case 'claimed':
      return `It is claimed by ${holder} until ${at(work.claimExpiresAt)}, unless its lease is renewed.`
    case 'stale':
      return `It was claimed by ${holder}, whose lease ran out at ${at(work.claimExpiresAt)}; the next sweep puts it back.`
    case 'queued':
      return `${explainPlace(work)} ${explainMachines(work)}`
    default:
      return `It is ${work.state} since ${at(work.finishedAt)}.`
  }
}

function explainPlace({ ahead, isAheadCapped }: WaitingFacts): string {
  if (ahead === 0) return 'It is next in line.'
  return `It waits behind ${isAheadCapped ? 'at least ' : ''}${ahead} other${ahead === 1 ? '' : 's'}.`
}

function explainMachines({ orchestratorId, machineSeenAt, isMachineRecent }: WaitingFacts): string {
  if (machineSeenAt === null) return `No machine of orchestrator ${orchestratorId} has ever polled with a machineId.`
  if (!isMachineRecent) return `No machine of orchestrator ${orchestratorId} has polled since ${at(machineSeenAt)}.`
  return 'Machines are polling.'
}
