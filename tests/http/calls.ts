import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { claimNextResponse, claimResponse } from '@/lib/protocol/claim'
import { enqueueResponse } from '@/lib/protocol/enqueue'
import { createKeyResponse, listKeysResponse } from '@/lib/protocol/keys'
import { machinesResponse, overviewResponse } from '@/lib/protocol/overview'
import { pollQueryResponse, pollResponse } from '@/lib/protocol/poll'
import { healthResponse, sweepResponse } from '@/lib/protocol/service'
import {
  completeBatchResponse,
  completeResponse,
  failResponse,
  heartbeatResponse,
  releaseResponse,
} from '@/lib/protocol/settle'
import { workActionResponse, workActionsResponse, workListResponse, workResponse } from '@/lib/protocol/work'
import type { Sql } from '../support/db'
import { insertClaimed, insertFinished, insertWork } from '../support/factories'

/** Who may call, besides admins; `admin` is nobody else, and to `cron` even admins are strangers. */
export type Audience = 'anyone' | 'producer' | 'orchestrator' | 'viewer' | 'admin' | 'cron'

export interface ValidCall {
  path: string
  json?: Record<string, unknown>
}

export interface CallSpec {
  audience: Audience
  /** Of its success, and what the answer then looks like; null: no body. */
  status: 200 | 201 | 204
  answer: z.ZodType | null
  /** Puts in the rows that the call needs, and gives a call that succeeds once. */
  prepare(sql: Sql, orchestratorId: string): Promise<ValidCall>
}

const claimed = async (sql: Sql, orchestratorId: string) => {
  const { queueId, claimToken } = await insertClaimed(sql, { orchestratorId })
  return { orchestratorId, queueId, claimToken }
}

/** One call that succeeds for every method of every route, by `METHOD path`. */
export const calls: Readonly<Record<string, CallSpec>> = {
  'POST /api/enqueue': {
    audience: 'producer',
    status: 201,
    answer: enqueueResponse,
    prepare: async (_sql, orchestratorId) => ({
      path: '/api/enqueue',
      json: { orchestratorId, items: [{ payload: { issue: 'LIN-1' } }] },
    }),
  },
  'GET /api/poll': {
    audience: 'orchestrator',
    status: 200,
    answer: pollQueryResponse,
    prepare: async (_sql, orchestratorId) => ({ path: `/api/poll?orchestratorId=${orchestratorId}` }),
  },
  'POST /api/poll': {
    audience: 'orchestrator',
    status: 200,
    answer: pollResponse,
    prepare: async (sql, orchestratorId) => {
      const { queueId, claimToken } = await claimed(sql, orchestratorId)
      return { path: '/api/poll', json: { orchestratorId, holding: [{ queueId, claimToken }] } }
    },
  },
  'POST /api/claim': {
    audience: 'orchestrator',
    status: 200,
    answer: claimResponse,
    prepare: async (sql, orchestratorId) => {
      const { queueId } = await insertWork(sql, { orchestratorId })
      return { path: '/api/claim', json: { orchestratorId, queueId } }
    },
  },
  'POST /api/claim/next': {
    audience: 'orchestrator',
    status: 200,
    answer: claimNextResponse,
    prepare: async (sql, orchestratorId) => {
      await insertWork(sql, { orchestratorId })
      return { path: '/api/claim/next', json: { orchestratorId } }
    },
  },
  'POST /api/heartbeat': {
    audience: 'orchestrator',
    status: 200,
    answer: heartbeatResponse,
    prepare: async (sql, orchestratorId) => ({ path: '/api/heartbeat', json: await claimed(sql, orchestratorId) }),
  },
  'POST /api/complete': {
    audience: 'orchestrator',
    status: 200,
    answer: completeResponse,
    prepare: async (sql, orchestratorId) => ({ path: '/api/complete', json: await claimed(sql, orchestratorId) }),
  },
  'POST /api/complete/batch': {
    audience: 'orchestrator',
    status: 200,
    answer: completeBatchResponse,
    prepare: async (sql, orchestratorId) => {
      const { queueId, claimToken } = await claimed(sql, orchestratorId)
      return { path: '/api/complete/batch', json: { orchestratorId, claims: [{ queueId, claimToken }] } }
    },
  },
  'POST /api/fail': {
    audience: 'orchestrator',
    status: 200,
    answer: failResponse,
    prepare: async (sql, orchestratorId) => ({
      path: '/api/fail',
      json: { ...(await claimed(sql, orchestratorId)), error: 'the tests were red' },
    }),
  },
  'POST /api/release': {
    audience: 'orchestrator',
    status: 200,
    answer: releaseResponse,
    prepare: async (sql, orchestratorId) => ({ path: '/api/release', json: await claimed(sql, orchestratorId) }),
  },
  'GET /api/work': {
    audience: 'viewer',
    status: 200,
    answer: workListResponse,
    prepare: async (sql, orchestratorId) => {
      await insertWork(sql, { orchestratorId })
      return { path: `/api/work?orchestratorId=${orchestratorId}` }
    },
  },
  'POST /api/work/actions': {
    audience: 'admin',
    status: 200,
    answer: workActionsResponse,
    prepare: async (sql, orchestratorId) => {
      const { queueId } = await insertWork(sql, { orchestratorId })
      return {
        path: '/api/work/actions',
        json: { action: 'cancel', items: [{ queueId, attempts: 0, claimedBy: null }] },
      }
    },
  },
  'GET /api/overview': {
    audience: 'viewer',
    status: 200,
    answer: overviewResponse,
    prepare: async (_sql, orchestratorId) => ({ path: `/api/overview?orchestratorId=${orchestratorId}` }),
  },
  'GET /api/machines': {
    audience: 'viewer',
    status: 200,
    answer: machinesResponse,
    prepare: async (_sql, orchestratorId) => ({ path: `/api/machines?orchestratorId=${orchestratorId}` }),
  },
  'GET /api/work/[queueId]': {
    audience: 'viewer',
    status: 200,
    answer: workResponse,
    prepare: async (sql, orchestratorId) => ({
      path: `/api/work/${(await insertWork(sql, { orchestratorId })).queueId}`,
    }),
  },
  'POST /api/work/[queueId]/cancel': {
    audience: 'admin',
    status: 200,
    answer: workActionResponse,
    prepare: async (sql, orchestratorId) => ({
      path: `/api/work/${(await insertWork(sql, { orchestratorId })).queueId}/cancel`,
    }),
  },
  'POST /api/work/[queueId]/retry': {
    audience: 'admin',
    status: 200,
    answer: workActionResponse,
    prepare: async (sql, orchestratorId) => ({
      path: `/api/work/${(await insertFinished(sql, { orchestratorId, outcome: 'failed' })).queueId}/retry`,
    }),
  },
  'POST /api/work/[queueId]/release': {
    audience: 'admin',
    status: 200,
    answer: workActionResponse,
    prepare: async (sql, orchestratorId) => ({
      path: `/api/work/${(await insertClaimed(sql, { orchestratorId })).queueId}/release`,
    }),
  },
  'GET /api/keys': {
    audience: 'admin',
    status: 200,
    answer: listKeysResponse,
    prepare: async () => ({ path: '/api/keys' }),
  },
  'POST /api/keys': {
    audience: 'admin',
    status: 201,
    answer: createKeyResponse,
    prepare: async (_sql, orchestratorId) => ({
      path: '/api/keys',
      json: { name: 'laptop', role: 'orchestrator', orchestratorId },
    }),
  },
  'DELETE /api/keys/[id]': {
    audience: 'admin',
    status: 204,
    answer: null,
    prepare: async (sql) => {
      const [row] = await sql<{ id: string }>(
        `INSERT INTO api_keys (name, role, key_hash, prefix)
         VALUES ('to be revoked', 'viewer', encode(sha256($1::text::bytea), 'hex'), 'dq_') RETURNING id`,
        [randomUUID()],
      )
      return { path: `/api/keys/${row?.id}` }
    },
  },
  'GET /api/cron/sweep': {
    audience: 'cron',
    status: 200,
    answer: sweepResponse,
    prepare: async () => ({ path: '/api/cron/sweep' }),
  },
  'POST /api/sweep': {
    audience: 'admin',
    status: 200,
    answer: sweepResponse,
    prepare: async () => ({ path: '/api/sweep' }),
  },
  'GET /api/health': {
    audience: 'anyone',
    status: 200,
    answer: healthResponse,
    prepare: async () => ({ path: '/api/health' }),
  },
}
