import { z } from 'zod'
import { instant, keyName, optional, orchestratorId } from '@/lib/protocol/fields'

const role = z.enum(['producer', 'orchestrator', 'viewer', 'admin'])

export const createKeyRequest = z
  .strictObject({ name: keyName, role, orchestratorId: optional(orchestratorId) })
  .refine((key) => key.role !== 'orchestrator' || key.orchestratorId !== undefined, {
    path: ['orchestratorId'],
    message: 'is required for an orchestrator key',
  })
  .refine((key) => key.role !== 'admin' || key.orchestratorId === undefined, {
    path: ['orchestratorId'],
    message: 'must be left out for an admin key: it is good for all of them',
  })

export const keyPath = z.strictObject({ id: z.guid() })

const keyRecord = {
  id: z.guid(),
  name: keyName,
  role,
  orchestratorId: orchestratorId.nullable(),
  prefix: z.string(),
  createdAt: instant,
  lastUsedAt: instant.nullable(),
  revokedAt: instant.nullable(),
}

export const createKeyResponse = z.object({ ...keyRecord, key: z.string() })
export const listKeysResponse = z.object({ keys: z.array(z.object(keyRecord)) })

/** A revocation has no body. */
export const revokeKeyResponse = z.undefined()
