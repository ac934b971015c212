import { readConfig } from '@/lib/config'
import { connectDb } from '@/lib/db/client'
import { claimNextShared, completeShared } from '@/lib/instance/shared-statements'
import type { Claim } from '@/lib/queue/claim'
import { completeBatch } from '@/lib/queue/complete-batch'
import { enqueue } from '@/lib/queue/enqueue'
import { type Contestant, drainBy, loadBy, payload, type Ways } from './contestant'

const orchestratorId = 'acme'
const machineId = 'laptop'
const asked = { orchestratorId, machineId, maxBytes: 3_000_000, defaultLeaseMs: 1_800_000 }

/** dispatch-queue's own operations, as its routes call them, through the pg driver. */
export function ours(url: string, poolSize: number): Contestant {
  const connection = connectDb(
    readConfig({ DATABASE_URL: url, DISPATCH_DB_DRIVER: 'pg', DISPATCH_POOL_SIZE: `${poolSize}` }),
  )
  const { db } = connection

  const ways: Ways<Claim> = {
    take: (batch) => claimNextShared(db, { ...asked, limit: batch }),
    finish: async (claims) => {
      const [first] = claims
      if (first === undefined) return 0
      const { queueId, claimToken } = first
      if (claims.length === 1) await completeShared(db, { orchestratorId, queueId, claimToken })
      else await completeBatch(db, { orchestratorId, claims })
      return claims.length
    },
  }

  return {
    setUp: async () => {},
    enqueue: async (count, batch) => {
      const items = Array.from({ length: batch }, () => ({ payload }))
      for (let done = 0; done < count; done += batch) {
        await enqueue(db, { orchestratorId, items: items.slice(0, count - done), defaultMaxAttempts: 3 })
      }
    },
    drain: (drain) => drainBy(ways, drain),
    load: (load) => loadBy(ways, load),
    close: () => connection.close(),
  }
}
