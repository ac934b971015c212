import { claim } from '@/lib/queue/claim'
import { enqueue } from '@/lib/queue/enqueue'
import { connect, quantileOf } from '../own-database'
import { atMost, type Figure, type Scenario } from '../scenario'

const CONNECTIONS = 100
const RIVALS = [2, 10, 100, 1_000]

export const rivals: Scenario = {
  name: 'rivals',
  title: `rivals for one row, over ${CONNECTIONS} connections`,
  unit: 'ms (p99)',
  run: async (postgres, rounds) => {
    const connection = connect(await postgres.createDatabase('rivals', 'dispatch'), CONNECTIONS)
    const { db } = connection
    const own = { orchestratorId: 'acme', defaultLeaseMs: 1_800_000 }
    const figures: Record<string, Figure> = {}
    let wrong = 0
    const race = async (count: number) => {
      const [item] = await enqueue(db, { ...own, items: [{ payload: {} }], defaultMaxAttempts: 3 })
      const queueId = item?.queueId ?? 0
      const startedAt = performance.now()
      const calls = Array.from({ length: count }, async (_, n) => {
        const won = await claim(db, { ...own, queueId, machineId: `machine-${n}` })
        return { isWinner: won !== null, ms: performance.now() - startedAt }
      })
      const answers = await Promise.all(calls)
      if (answers.filter(({ isWinner }) => isWinner).length !== 1) wrong += 1
      return quantileOf(
        answers.map(({ ms }) => ms),
        0.99,
      )
    }
    // Opens the connections.
    await race(CONNECTIONS * 2)
    for (const count of RIVALS) {
      const p99s: number[] = []
      for (let round = 0; round < rounds; round += 1) p99s.push(Number((await race(count)).toFixed(1)))
      figures[`${count} rivals`] = { median: quantileOf(p99s, 0.5), rounds: p99s }
    }
    await connection.close()
    return { figures, verdicts: [atMost('races without exactly one winner', wrong, 0)] }
  },
}
