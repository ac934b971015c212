/** How much work is taken at a time, and by how many workers at once. */
export interface Drain {
  workers: number
  /** Pieces of work per claim and per completion. */
  batch: number
  /** So many are there: the drain is over when all of them are finished. */
  count: number
}

export interface Load {
  workers: number
  seconds: number
}

/** A queue under test, in a database and a process of its own. Durations are seconds, by the monotonic clock of its process. */
export interface Contestant {
  /** Makes what it needs in an empty database. */
  setUp(): Promise<void>
  /** Puts in `count` pieces of work with the same small payload, `batch` in a call, one call after the other. */
  enqueue(count: number, batch: number): Promise<void>
  /** Takes and finishes everything. @returns how long that took */
  drain(drain: Drain): Promise<number>
  /** Takes and finishes, one at a time, as fast as it can. @returns how many were finished in each second */
  load(load: Load): Promise<number[]>
  close(): Promise<void>
}

export const payload = { issue: 'ENG-142', title: 'Fix the login' }

/** How a worker takes up to so many pieces of work, and how it finishes what it took. */
export interface Ways<Work> {
  take(batch: number): Promise<readonly Work[]>
  /** @returns how many were finished */
  finish(work: readonly Work[]): Promise<number>
}

/**
 * Drains by workers that take and finish in turn. Each asks for its next work while its last finish is under way, and waits for
 * that before the next one: graphile-worker does so by itself, so all do.
 */
export async function drainBy<Work>(ways: Ways<Work>, { workers, batch, count }: Drain): Promise<number> {
  let left = count
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: workers }, () =>
      repeat(
        ways,
        batch,
        () => left > 0,
        (finished) => {
          left -= finished
        },
      ),
    ),
  )
  return (performance.now() - startedAt) / 1_000
}

async function repeat<Work>(
  { take, finish }: Ways<Work>,
  batch: number,
  goesOn: () => boolean,
  onFinished: (count: number) => void,
): Promise<void> {
  let finishing: Promise<void> = Promise.resolve()
  while (goesOn()) {
    const work = await take(batch)
    await finishing
    if (work.length > 0) finishing = finish(work).then(onFinished)
  }
  await finishing
}

/** Takes and finishes for a while, and counts what was finished by the second. */
export async function loadBy<Work>(ways: Ways<Work>, { workers, seconds }: Load): Promise<number[]> {
  const finished = Array.from({ length: seconds }, () => 0)
  const startedAt = performance.now()
  const second = () => Math.floor((performance.now() - startedAt) / 1_000)
  const note = (count: number) => {
    const now = second()
    if (now < seconds) finished[now] = (finished[now] ?? 0) + count
  }
  await Promise.all(Array.from({ length: workers }, () => repeat(ways, 1, () => second() < seconds, note)))
  return finished
}
