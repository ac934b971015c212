import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { claimNextRequest, claimRequest } from '@/lib/protocol/claim'
import { enqueueItem, enqueueRequest } from '@/lib/protocol/enqueue'
import { createKeyRequest } from '@/lib/protocol/keys'
import { pollRequest } from '@/lib/protocol/poll'
import {
  completeBatchRequest,
  completeRequest,
  failRequest,
  heartbeatRequest,
  releaseRequest,
} from '@/lib/protocol/settle'
import { newOrchestratorId } from '../support/factories'
import { expectInvalid, expectProblem } from './answers'
import * as values from './field-values'
import { ADMIN_KEY, everyRow, setUpInstance } from './instance'

const { sql, send } = await setUpInstance()

interface Body {
  [field: string]: unknown
}
interface Subject {
  path: string
  schema: z.ZodObject
  /** Builds a whole body around the fields under test. */
  wrap?: (fields: Body) => Body
  /** Where the fields are within the body. */
  at?: string
  /** A valid value of every required field. */
  base: () => Body
  /** Field by field: its values, and whether it may be null or left out. */
  fields: Record<string, values.FieldValues>
  required: readonly string[]
}

const claimId = { orchestratorId: values.orchestratorIds, queueId: values.queueIds, claimToken: values.claimTokens }
const ownClaim = () => ({ orchestratorId: newOrchestratorId(), queueId: 1, claimToken: randomUUID() })
const claimNames = ['orchestratorId', 'queueId', 'claimToken']
/** Payloads and results have tests of their own. */
const elsewhere = new Set(['payload', 'result', 'items', 'claims', 'holding'])

const subjects: Subject[] = [
  {
    path: '/api/enqueue',
    schema: enqueueRequest,
    base: () => ({ orchestratorId: newOrchestratorId(), items: [{ payload: 1 }] }),
    fields: { orchestratorId: values.orchestratorIds },
    required: ['orchestratorId'],
  },
  {
    path: '/api/enqueue',
    at: 'items[1].',
    schema: enqueueItem,
    wrap: (item) => ({ orchestratorId: newOrchestratorId(), items: [{ payload: null }, item] }),
    base: () => ({ payload: null }),
    fields: {
      enqueueId: values.enqueueIds,
      priority: values.priorities,
      dedupeKey: values.dedupeKeys,
      delayMs: values.delays,
      maxAttempts: values.attemptLimits,
      claimTimeoutMs: values.claimTimeouts,
    },
    required: [],
  },
  {
    path: '/api/poll',
    schema: pollRequest,
    base: () => ({ orchestratorId: newOrchestratorId() }),
    fields: {
      orchestratorId: values.orchestratorIds,
      machineId: values.machineIds,
      limit: values.limits,
      waitMs: values.waits,
    },
    required: ['orchestratorId'],
  },
  {
    path: '/api/poll',
    at: 'holding[0].',
    schema: pollRequest.shape.holding.in.unwrap().unwrap().element,
    wrap: (entry) => ({ orchestratorId: newOrchestratorId(), holding: [entry] }),
    base: () => ({ queueId: 1, claimToken: randomUUID() }),
    fields: {
      queueId: values.queueIds,
      claimToken: values.claimTokens,
      progress: values.progresses,
      note: values.freeTexts,
    },
    required: ['queueId', 'claimToken'],
  },
  {
    path: '/api/claim',
    schema: claimRequest,
    base: () => ({ orchestratorId: newOrchestratorId(), queueId: 1 }),
    fields: {
      ...claimId,
      machineId: values.machineIds,
      previousToken: values.claimTokens,
      claimTimeoutMs: values.claimTimeouts,
    },
    required: ['orchestratorId', 'queueId'],
  },
  {
    path: '/api/claim/next',
    schema: claimNextRequest,
    base: () => ({ orchestratorId: newOrchestratorId() }),
    fields: {
      orchestratorId: values.orchestratorIds,
      machineId: values.machineIds,
      limit: values.limits,
      claimTimeoutMs: values.claimTimeouts,
      waitMs: values.waits,
    },
    required: ['orchestratorId'],
  },
  {
    path: '/api/heartbeat',
    schema: heartbeatRequest,
    base: ownClaim,
    fields: { ...claimId, progress: values.progresses, note: values.freeTexts, claimTimeoutMs: values.claimTimeouts },
    required: claimNames,
  },
  { path: '/api/complete', schema: completeRequest, base: ownClaim, fields: claimId, required: claimNames },
  {
    path: '/api/complete/batch',
    schema: completeBatchRequest,
    base: () => ({ orchestratorId: newOrchestratorId(), claims: [{ queueId: 1, claimToken: randomUUID() }] }),
    fields: { orchestratorId: values.orchestratorIds },
    required: ['orchestratorId'],
  },
  {
    path: '/api/complete/batch',
    at: 'claims[1].',
    schema: completeBatchRequest.shape.claims.element,
    wrap: (entry) => ({
      orchestratorId: newOrchestratorId(),
      claims: [{ queueId: 7, claimToken: randomUUID() }, entry],
    }),
    base: () => ({ queueId: 1, claimToken: randomUUID() }),
    fields: { queueId: values.queueIds, claimToken: values.claimTokens },
    required: ['queueId', 'claimToken'],
  },
  {
    path: '/api/fail',
    schema: failRequest,
    base: () => ({ ...ownClaim(), error: 'red' }),
    fields: { ...claimId, error: values.freeTexts, retryable: values.flags, retryDelayMs: values.delays },
    required: [...claimNames, 'error'],
  },
  { path: '/api/release', schema: releaseRequest, base: ownClaim, fields: claimId, required: claimNames },
  {
    path: '/api/keys',
    schema: createKeyRequest,
    base: () => ({ name: 'laptop', role: 'producer' }),
    fields: { name: values.keyNames, role: values.roles, orchestratorId: values.orchestratorIds },
    required: ['name', 'role'],
  },
]

const shown = (value: unknown) => JSON.stringify(value)?.slice(0, 30) ?? 'nothing'

describe.each(subjects)(
  'POST $path, fields of the body $at',
  ({ path, schema, at = '', wrap, base, fields, required }) => {
    const post = (changes: Body) => {
      const body = { ...base(), ...changes }
      return send('POST', path, { key: ADMIN_KEY, json: wrap === undefined ? body : wrap(body) })
    }

    test('every field of the schema is here', () => {
      const known = Object.keys(schema.shape).filter((field) => !elsewhere.has(field))
      expect(Object.keys(fields).sort()).toStrictEqual(known.sort())
    })

    test.each(Object.entries(fields))(
      '%s: what is within its limits is accepted, to the edge',
      async (field, { accepts }) => {
        const optional = required.includes(field) ? [] : [null, undefined]
        for (const value of [...accepts, ...optional]) {
          const answer = await post({ [field]: value })
          expect([200, 201, 409], `${shown(value)}: ${answer.text}`).toContain(answer.status)
        }
      },
    )

    test.each(Object.entries(fields))(
      '%s: 400 that names it for what is not, and nothing changes',
      async (field, { refuses }) => {
        const before = await everyRow(sql)
        const missing = required.includes(field) ? [null, undefined] : []
        for (const value of [...refuses, ...missing]) {
          const answer = await post({ [field]: value })
          const { errors = [] } = expectProblem(answer, 400, 'invalid-request')
          expect([...new Set(errors.map((error) => error.path))], shown(value)).toStrictEqual([`${at}${field}`])
          expect(errors.map((error) => error.message)).not.toContain('')
        }
        expect(await everyRow(sql)).toStrictEqual(before)
      },
    )

    test('400 that lists every field which does not fit, not only the first', async () => {
      const wrong = Object.fromEntries(Object.keys(fields).map((field) => [field, {}]))
      expectInvalid(
        await post(wrong),
        ...Object.keys(schema.shape).flatMap((field) => (field in fields ? [`${at}${field}`] : [])),
      )
    })
  },
)
