import { EventEmitter } from 'node:events'
import { Logger, makeWorkerUtils, run, type WorkerEvents, type WorkerUtils } from 'graphile-worker'
import { type Contestant, type Drain, type Load, payload } from './contestant'

const silent = new Logger(() => () => {})

/**
 * graphile-worker as it documents its two ways: each job fetched and completed by itself, or, with `isBatching`, the fastest
 * preset of its performance page (a local queue of 500 jobs, and completions gathered in batches).
 */
export function graphileWorker(url: string, poolSize: number, isBatching: boolean): Contestant {
  let utils: WorkerUtils | undefined

  async function work(workers: number, isOver: (finished: number) => boolean, onFinished: () => void): Promise<number> {
    const events: WorkerEvents = new EventEmitter()
    let finished = 0
    let startedAt = 0
    const over = new Promise<void>((resolve) => {
      events.on('job:start', () => {
        startedAt ||= performance.now()
      })
      events.on('job:complete', () => {
        finished += 1
        onFinished()
        if (isOver(finished)) resolve()
      })
    })
    const runner = await run({
      connectionString: url,
      maxPoolSize: poolSize,
      concurrency: workers,
      taskList: { work: () => {} },
      events,
      logger: silent,
      noHandleSignals: true,
      preset: isBatching
        ? {
            worker: {
              localQueue: { size: 500 },
              completeJobBatchDelay: 0,
              failJobBatchDelay: 0,
              concurrentJobs: workers,
              maxPoolSize: poolSize,
            },
          }
        : { worker: { concurrentJobs: workers, maxPoolSize: poolSize } },
    })
    await over
    // It tells of a completion before that is in the database; stopping waits for those.
    await runner.stop().catch(() => {})
    return (performance.now() - startedAt) / 1_000
  }

  async function load({ workers, seconds }: Load): Promise<number[]> {
    const finished = Array.from({ length: seconds }, () => 0)
    const startedAt = performance.now()
    const second = () => Math.floor((performance.now() - startedAt) / 1_000)
    await work(
      workers,
      () => second() >= seconds,
      () => {
        const now = second()
        if (now < seconds) finished[now] = (finished[now] ?? 0) + 1
      },
    )
    return finished
  }

  return {
    setUp: async () => {
      utils = await makeWorkerUtils({ connectionString: url, logger: silent })
      await utils.migrate()
    },
    enqueue: async (count, batch) => {
      for (let done = 0; done < count; done += batch) {
        const jobs = Array.from({ length: Math.min(batch, count - done) }, () => ({ identifier: 'work', payload }))
        if (batch === 1) await utils?.addJob('work', payload)
        else await utils?.addJobs(jobs)
      }
    },
    drain: ({ workers, count }: Drain) =>
      work(
        workers,
        (finished) => finished >= count,
        () => {},
      ),
    load,
    close: async () => utils?.release(),
  }
}
