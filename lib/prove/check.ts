import { byRow } from '@/lib/prove/by-row'
import type {
  ClaimedEvent,
  FinalWork,
  HistoryEvent,
  NextEvent,
  RenewedEvent,
  SettledEvent,
  Violation,
} from '@/lib/prove/history'

const finalStates = new Set<FinalWork['state']>(['completed', 'failed', 'cancelled'])

/**
 * Decides from what machines saw, and from what the server says in the end, whether the queue kept its promises. It knows no
 * server and no clock: the same input gives the same verdict. It accuses only where no order of events could excuse the answers.
 */
export function check(history: readonly HistoryEvent[], works: readonly FinalWork[]): Violation[] {
  const stories = byRow(history.filter(hasRow))
  const byId = byRow(works)
  const violations: Violation[] = []
  for (const [queueId, story] of stories) {
    const accuse = (rule: string, detail: string) => violations.push({ rule, queueId, detail, story })
    checkLeases(story, accuse)
    checkOvertaken(story, accuse)
    checkEnd(queueId, story, byId.get(queueId) ?? [], accuse)
  }
  for (const work of works) {
    const accuse = (rule: string, detail: string) =>
      violations.push({ rule, queueId: work.queueId, detail, story: stories.get(work.queueId) ?? [] })
    checkAttempts(work, accuse)
  }
  const nexts = history.filter((event) => event.kind === 'next')
  return [...violations, ...checkLimits(nexts), ...checkOrder(nexts, byId)]
}

type Accuse = (rule: string, detail: string) => void
type RowEvent = Exclude<HistoryEvent, { kind: 'next' }>

const hasRow = (event: HistoryEvent): event is RowEvent => event.kind !== 'next'
const isClaim = (event: RowEvent): event is ClaimedEvent => event.kind === 'claimed'
const isRenewal = (event: RowEvent): event is RenewedEvent => event.kind === 'renewed'
const isSettled = (event: RowEvent): event is SettledEvent =>
  event.kind === 'completed' || event.kind === 'failed' || event.kind === 'released'

/** Until when a claim was live beyond doubt, from the moment at which it was given. */
interface Lease {
  token: string
  until: number
  claim: ClaimedEvent
}

/**
 * A lease surely runs until its length after it was asked for, and renewals move its end in the same way; what may have ended it
 * earlier counts from when it was sent.
 */
function leasesOf(story: readonly RowEvent[]): Lease[] {
  const firsts = new Map<string, ClaimedEvent>()
  for (const claim of story.filter(isClaim)) if (!firsts.has(claim.token)) firsts.set(claim.token, claim)
  return [...firsts.values()].map((claim) => {
    const extended = story
      .filter((event) => (isRenewal(event) || isClaim(event)) && event.token === claim.token)
      .sort((one, other) => one.sentAt - other.sentAt)
    let until = claim.sentAt + claim.leaseMs
    for (const event of extended) {
      // One that came after the lease was over may have revived a claim that somebody else had meanwhile.
      if ((isRenewal(event) || isClaim(event)) && event.sentAt <= until)
        until = Math.max(until, event.sentAt + event.leaseMs)
    }
    return { token: claim.token, until: Math.min(until, endOf(story, claim)), claim }
  })
}

/** When a claim may have ended before its lease: by its holder's call, by the machine taking it over, by a person. */
function endOf(story: readonly RowEvent[], claim: ClaimedEvent): number {
  const ends = story.filter(
    (event) =>
      (isSettled(event) && event.token === claim.token) ||
      (isClaim(event) && event.previousToken === claim.token) ||
      (event.kind === 'acted' && event.seenAt > claim.sentAt),
  )
  return Math.min(Number.POSITIVE_INFINITY, ...ends.map((event) => event.sentAt))
}

/** Of two claims one came first; each way there must be a moment at which the first was over before the other was given. */
function checkLeases(story: readonly RowEvent[], accuse: Accuse): void {
  const leases = leasesOf(story)
  const mayHaveEndedBefore = (first: Lease, then: Lease) => then.claim.seenAt >= first.until
  for (const [index, lease] of leases.entries()) {
    for (const rival of leases.slice(index + 1)) {
      if (rival.claim.previousToken === lease.token || lease.claim.previousToken === rival.token) continue
      if (mayHaveEndedBefore(lease, rival) || mayHaveEndedBefore(rival, lease)) continue
      accuse('two live leases', `${rival.claim.machine} was given work that ${lease.claim.machine} held`)
    }
  }
}

function checkOvertaken(story: readonly RowEvent[], accuse: Accuse): void {
  const claims = story.filter(isClaim)
  for (const settled of story.filter(isSettled)) {
    if (!settled.isAccepted) continue
    const own = claims.find((claim) => claim.token === settled.token)
    const overtaker = claims.find(
      (claim) =>
        claim.token !== settled.token &&
        own !== undefined &&
        claim.sentAt > own.seenAt &&
        claim.seenAt < settled.sentAt,
    )
    if (overtaker)
      accuse('overtaken token', `${settled.machine} ${settled.kind} what ${overtaker.machine} had claimed since`)
  }
}

/** Work whose enqueue was answered is there in the end, once, and no answer says otherwise than its end. */
function checkEnd(queueId: number, story: readonly RowEvent[], ends: readonly FinalWork[], accuse: Accuse): void {
  if (story.some(({ kind }) => kind === 'enqueued') && ends.length !== 1) {
    accuse('lost or doubled work', `work ${queueId} is there ${ends.length} times`)
  }
  const [end] = ends
  if (end === undefined) return
  const completions = new Set(
    story
      .filter((event) => event.kind === 'completed' && event.isAccepted)
      .map((event) => ('token' in event ? event.token : '')),
  )
  if (completions.size > 1) accuse('completed twice', `work ${queueId} was completed under ${completions.size} tokens`)
  if (completions.size > 0 && end.state !== 'completed')
    accuse('lost completion', `work ${queueId} was completed, and is ${end.state}`)
}

/**
 * Attempts are the claims that were not given back. One that ran out, and that its late holder took up again and ended, has two
 * entries in the log and is one attempt.
 */
function checkAttempts(work: FinalWork, accuse: Accuse): void {
  const counted = new Set<number>()
  for (const { attempt, how } of work.attemptLog) {
    if (how === 'released') counted.delete(attempt)
    else counted.add(attempt)
  }
  if (work.state === 'claimed' || work.state === 'stale') counted.add(work.attempts)
  if (work.attempts !== counted.size)
    accuse('wrong attempts', `it says ${work.attempts}, and its log tells of ${counted.size}`)
  const completions = work.attemptLog.filter(({ how }) => how === 'completed').length
  if (completions > 1) accuse('completed twice', `its log has ${completions} completions`)
  if (work.attempts > work.maxAttempts) accuse('too many attempts', `it had ${work.attempts} of ${work.maxAttempts}`)
  if (finalStates.has(work.state) && work.state === 'completed' && completions !== 1)
    accuse('completed without a record', 'its log does not say so')
}

function checkLimits(nexts: readonly NextEvent[]): Violation[] {
  return nexts.flatMap((event) => {
    const isOver = event.queueIds.length > event.limit
    const isDoubled = new Set(event.queueIds).size !== event.queueIds.length
    if (!isOver && !isDoubled) return []
    const detail = `${event.machine} asked for ${event.limit} and got ${event.queueIds.join(', ')}`
    const rule = isOver ? 'more than the limit' : 'one row twice in an answer'
    return [{ rule, queueId: undefined, detail, story: [event] }]
  })
}

/**
 * Claim order. Within one answer priorities never fall, whoever asks. Who is alone in an orchestrator where nothing is put back gets
 * the work, over all calls, by priority and then as it was enqueued.
 */
function checkOrder(nexts: readonly NextEvent[], works: ReadonlyMap<number, readonly FinalWork[]>): Violation[] {
  const rank = (queueId: number) => works.get(queueId)?.[0]?.priority ?? 0
  const accuse = (event: NextEvent, [before, after]: readonly [number, number]) => ({
    rule: 'claim order',
    queueId: after,
    detail: `${event.machine} got ${before} of priority ${rank(before)} before ${after} of priority ${rank(after)}`,
    story: [event],
  })
  const last = new Map<string, number>()
  return nexts.flatMap((event) => {
    const earlier = event.isAlone ? last.get(event.machine) : undefined
    const ids = earlier === undefined ? event.queueIds : [earlier, ...event.queueIds]
    const end = ids.at(-1)
    if (end !== undefined) last.set(event.machine, end)
    const isWrong = ([before, after]: readonly [number, number]) =>
      rank(before) > rank(after) || (event.isAlone && rank(before) === rank(after) && before > after)
    const wrong = pairsOf(ids).find(isWrong)
    return wrong ? [accuse(event, wrong)] : []
  })
}

const pairsOf = (ids: readonly number[]): (readonly [number, number])[] =>
  ids.slice(1).flatMap((id, index) => {
    const before = ids[index]
    return before === undefined ? [] : [[before, id] as const]
  })
