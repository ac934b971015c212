import { PgBoss } from 'pg-boss'
import { type Contestant, drainBy, loadBy, payload, type Ways } from './contestant'

const queue = 'acme'

/** pg-boss by `fetch` and `complete`: its polling workers take a batch every half second at most, and would measure their own timer. */
export function pgBoss(url: string, poolSize: number): Contestant {
  const boss = new PgBoss({ connectionString: url, max: poolSize, supervise: false, schedule: false })
  boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`))

  const ways: Ways<{ id: string }> = {
    take: (batch) => boss.fetch(queue, { batchSize: batch }),
    finish: async (jobs) => {
      await boss.complete(
        queue,
        jobs.map(({ id }) => id),
      )
      return jobs.length
    },
  }

  return {
    setUp: async () => {
      await boss.start()
      await boss.createQueue(queue)
    },
    enqueue: async (count, batch) => {
      const jobs = Array.from({ length: batch }, () => ({ data: payload }))
      for (let done = 0; done < count; done += batch) {
        if (batch === 1) await boss.send(queue, payload)
        else await boss.insert(queue, jobs.slice(0, count - done))
      }
    },
    drain: (drain) => drainBy(ways, drain),
    load: (load) => loadBy(ways, load),
    close: () => boss.stop({ graceful: false }),
  }
}
