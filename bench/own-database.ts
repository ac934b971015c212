import { quantileSorted } from 'simple-statistics'
import { readConfig } from '@/lib/config'
import { connectDb } from '@/lib/db/client'

/** dispatch-queue's own database handle, in this process. */
export function connect(url: string, poolSize = 10) {
  return connectDb(readConfig({ DATABASE_URL: url, DISPATCH_DB_DRIVER: 'pg', DISPATCH_POOL_SIZE: `${poolSize}` }))
}

/** How long a call takes, in milliseconds, one after the other. */
export async function timesOf(count: number, call: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < count; n += 1) {
    const startedAt = performance.now()
    await call()
    times.push(performance.now() - startedAt)
  }
  return times
}

export function quantileOf(times: readonly number[], share: number): number {
  return quantileSorted(
    [...times].sort((a, b) => a - b),
    share,
  )
}
