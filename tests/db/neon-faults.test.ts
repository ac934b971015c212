import { sql } from 'drizzle-orm'
import { afterAll, describe, expect, test } from 'vitest'
import { isUnreachable } from '@/lib/db/errors'
import { retryRead } from '@/lib/db/retry'
import { read, statement } from '@/lib/db/statement'
import { setUpDatabase, testDriver } from '../support/db'
import { newOrchestratorId } from '../support/factories'
import { type NeonFault, startNeonEndpoint } from '../support/neon-endpoint'

const enqueue = statement(
  'test_enqueue',
  { queueId: read.id },
  sql`INSERT INTO dispatch_queue (orchestrator_id, payload) VALUES (${sql.placeholder('orchestratorId')}, '1') RETURNING id`,
)
const count = statement(
  'test_count',
  { rows: read.number },
  sql`SELECT count(*) FROM dispatch_queue WHERE orchestrator_id = ${sql.placeholder('orchestratorId')}`,
)

describe.runIf(testDriver === 'neon')("a fault of Neon's endpoint", async () => {
  const endpoint = await startNeonEndpoint()
  afterAll(endpoint.stop)
  const { db } = await setUpDatabase({ environment: { DISPATCH_NEON_ENDPOINT: endpoint.url } })

  /** Enqueues while the endpoint has a fault; gives the error, what was sent, and what is stored. */
  async function enqueueDuring(fault: NeonFault) {
    const orchestratorId = newOrchestratorId()
    const before = endpoint.statements.length
    endpoint.inject(fault)
    const error = await enqueue(db, { orchestratorId }).catch((error: unknown) => error)
    const sent = endpoint.statements.length - before
    return { error, sent, stored: await count(db, { orchestratorId }) }
  }

  test.each<NeonFault>(['server-error', 'bad-gateway'])(
    'a write that met %s fails as unreachable, was sent once and stored nothing; the next statement works',
    async (fault) => {
      const { error, sent, stored } = await enqueueDuring(fault)
      expect(isUnreachable(error)).toBe(true)
      expect({ sent, stored }).toStrictEqual({ sent: 1, stored: [{ rows: 0 }] })
    },
  )

  test('a write whose answer was lost fails as unreachable and is not sent again, for it has happened', async () => {
    const { error, sent, stored } = await enqueueDuring('reset-after-run')
    expect(isUnreachable(error)).toBe(true)
    expect({ sent, stored }).toStrictEqual({ sent: 1, stored: [{ rows: 1 }] })
  })

  test('a write that is never answered ends as unreachable by a time limit of its own; the next statement has a fresh one', async () => {
    const { error, sent, stored } = await enqueueDuring('hang')
    expect(isUnreachable(error)).toBe(true)
    expect({ sent, stored }).toStrictEqual({ sent: 1, stored: [{ rows: 0 }] })
  })

  test.each<NeonFault>(['server-error', 'bad-gateway', 'reset-after-run'])(
    'a read that met %s once is answered by its second try',
    async (fault) => {
      const before = endpoint.statements.length
      endpoint.inject(fault)
      expect(await retryRead(() => count(db, { orchestratorId: newOrchestratorId() }))).toStrictEqual([{ rows: 0 }])
      expect(endpoint.statements.length - before).toBe(2)
    },
  )

  test('a read that met faults twice fails as unreachable', async () => {
    endpoint.inject('server-error', 'bad-gateway')
    const error = await retryRead(() => count(db, { orchestratorId: 'a' })).catch((error: unknown) => error)
    expect(isUnreachable(error)).toBe(true)
  })

  test('a closed endpoint is unreachable', async () => {
    const closed = await startNeonEndpoint()
    await closed.stop()
    const handle = await setUpDatabase({ environment: { DISPATCH_NEON_ENDPOINT: closed.url } })
    const error = await count(handle.db, { orchestratorId: 'a' }).catch((error: unknown) => error)
    expect(isUnreachable(error)).toBe(true)
  })
})
