/** What may be done to a simulated machine's requests. */
const requestFaults = ['lost-answers', 'doubled-requests', 'late-requests'] as const
/** How a simulated machine may misbehave by itself. */
const machineFaults = ['deaths', 'pauses', 'wrong-clocks'] as const
export type Fault = (typeof requestFaults)[number] | (typeof machineFaults)[number]
export const allFaults: readonly Fault[] = [...requestFaults, ...machineFaults]

const CHANCE = 0.05
const LATEST_MS = 1_500

/** How often each fault was injected. */
export type FaultCounts = Record<Fault, number>

export const noFaults = (): FaultCounts => ({
  'lost-answers': 0,
  'doubled-requests': 0,
  'late-requests': 0,
  deaths: 0,
  pauses: 0,
  'wrong-clocks': 0,
})

/**
 * A `fetch` over a bad line: answers get lost after the server has done what was asked, requests arrive twice, or late.
 */
export function faultyFetch(
  faults: ReadonlySet<string>,
  counts: FaultCounts,
  { send = fetch, random = Math.random }: { send?: typeof fetch | undefined; random?: () => number } = {},
): typeof fetch {
  const strikes = (fault: Fault) => {
    if (!faults.has(fault) || random() >= CHANCE) return false
    counts[fault] += 1
    return true
  }
  return async (input, init) => {
    if (strikes('late-requests')) await new Promise((resolve) => setTimeout(resolve, random() * LATEST_MS))
    if (strikes('doubled-requests')) {
      const twin = send(input, init)
      twin.then((answer) => answer.body?.cancel()).catch(() => {})
    }
    const answer = await send(input, init)
    if (!strikes('lost-answers')) return answer
    await answer.body?.cancel()
    throw new TypeError('fetch failed', { cause: new Error('the answer was lost on purpose') })
  }
}
