import { byRow } from '@/lib/prove/by-row'
import type { FleetResult } from '@/lib/prove/fleet'
import type { HistoryEvent, Violation } from '@/lib/prove/history'

/** Milliseconds. */
interface Spread {
  count: number
  p50: number
  p99: number
  max: number
}

export interface ProveReport {
  verdict: string
  violations: readonly Violation[]
  tookSeconds: number
  work: { enqueued: number; completed: number; failed: number; cancelled: number }
  claims: number
  lostRaces: number
  /** Of all tries to claim by id. */
  lostShare: number
  latencies: Record<string, Spread>
  /** From the end of a lease that nobody renewed to the next claim of the work. */
  recovery: Spread
  faults: FleetResult['faults']
  /** Of the database, for each claim that was given; undefined where it was not seen. */
  statementsPerClaim: number | undefined
}

/**
 * Sums a fleet's life up.
 *
 * @param statements how many statements the database ran meanwhile, where that was seen
 */
export function reportOf(
  { violations, works, recorder, faults, tookMs }: FleetResult,
  statements?: number,
): ProveReport {
  const { history, lostRaces } = recorder
  const claims = new Set(history.flatMap((event) => (event.kind === 'claimed' ? [event.token] : []))).size
  const byId = recorder.latencies.get('claim')?.length ?? 0
  const inState = (state: string) => works.filter((work) => work.state === state).length
  return {
    verdict: violations.length === 1 ? '1 violation' : `${violations.length} violations`,
    violations,
    tookSeconds: Math.round(tookMs / 100) / 10,
    work: {
      enqueued: works.length,
      completed: inState('completed'),
      failed: inState('failed'),
      cancelled: inState('cancelled'),
    },
    claims,
    lostRaces,
    lostShare: byId === 0 ? 0 : lostRaces / byId,
    latencies: Object.fromEntries([...recorder.latencies].map(([call, times]) => [call, spreadOf(times)])),
    recovery: spreadOf(recoveriesOf(history)),
    faults,
    statementsPerClaim: statements === undefined ? undefined : Math.round((statements / claims) * 100) / 100,
  }
}

function spreadOf(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 10) / 10
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}

function recoveriesOf(history: readonly HistoryEvent[]): number[] {
  const rows = byRow(history.filter((event) => event.kind !== 'next' && event.kind !== 'enqueued'))
  return [...rows.values()].flatMap((story) => {
    const ends = new Map<string, number>()
    const settled = new Set<string>()
    const recoveries: number[] = []
    let last: string | undefined
    for (const event of story.toSorted((one, other) => one.sentAt - other.sentAt)) {
      if (event.kind === 'acted') continue
      if (event.kind === 'claimed' && event.token !== last) {
        const end = last === undefined || settled.has(last) || event.previousToken === last ? undefined : ends.get(last)
        if (end !== undefined && event.seenAt > end) recoveries.push(event.seenAt - end)
        last = event.token
      }
      if (event.kind === 'claimed' || event.kind === 'renewed') ends.set(event.token, event.sentAt + event.leaseMs)
      else settled.add(event.token)
    }
    return recoveries
  })
}

/** The report in Markdown. */
export function asMarkdown(report: ProveReport): string {
  const rows = Object.entries(report.latencies).map(
    ([call, { count, p50, p99, max }]) => `| ${call} | ${count} | ${p50} | ${p99} | ${max} |`,
  )
  const { work, recovery } = report
  return [
    `**${report.verdict}** in ${report.tookSeconds} s`,
    '',
    `- work: ${work.enqueued} enqueued, ${work.completed} completed, ${work.failed} failed, ${work.cancelled} cancelled at the end`,
    `- claims: ${report.claims}; lost races: ${report.lostRaces} (${(report.lostShare * 100).toFixed(1)} % of claims by id)`,
    `- recovery from the end of a lease to the next claim: p50 ${recovery.p50} ms, p99 ${recovery.p99} ms, of ${recovery.count}`,
    ...(report.statementsPerClaim === undefined
      ? []
      : [
          `- statements in the database: ${report.statementsPerClaim} per claim, with all polls, heartbeats and sweeps`,
        ]),
    `- faults injected: ${Object.entries(report.faults)
      .map(([fault, count]) => `${count} ${fault}`)
      .join(', ')}`,
    '',
    '| call | answers | p50 ms | p99 ms | max ms |',
    '| --- | --: | --: | --: | --: |',
    ...rows,
    ...report.violations
      .slice(0, 20)
      .flatMap(({ rule, queueId, detail, story }) => [
        '',
        `**${rule}**: work ${queueId ?? '–'}: ${detail}`,
        '```',
        ...story.map((event) => JSON.stringify(event)),
        '```',
      ]),
  ].join('\n')
}
