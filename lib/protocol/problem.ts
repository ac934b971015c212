import { z } from 'zod'
import { claimLostReason } from '@/lib/protocol/fields'
import { workState } from '@/lib/protocol/work'

export const problemCode = z.enum([
  'invalid-request',
  'unauthorized',
  'forbidden',
  'not-found',
  'method-not-allowed',
  'claim-lost',
  'wrong-state',
  'too-large',
  'unsupported-media-type',
  'unavailable',
  'internal',
])

/** An RFC 9457 problem document; `type` is `urn:dispatch-queue:problem:<code>`. */
export const problem = z.object({
  type: z.string().startsWith('urn:dispatch-queue:problem:'),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  requestId: z.string(),
  /** What is wrong with the request, one entry per field. */
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  /** With claim-lost. */
  reason: claimLostReason.optional(),
  /** With wrong-state. */
  state: workState.optional(),
  /** With too-large. */
  limitBytes: z.int().optional(),
})
