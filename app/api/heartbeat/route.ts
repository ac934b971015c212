import { methods } from '@/lib/http/methods'
import { route } from '@/lib/http/route'
import { heartbeatRequest } from '@/lib/protocol/settle'
import { heartbeat } from '@/lib/queue/heartbeat'

/**
 * Renews a claim's lease and notes its progress. 200 `{claimExpiresAt, leaseMs}`; 409 claim-lost with the reason.
 *
 * Sent twice: the lease runs from the later one.
 */
const post = route({
  roles: ['orchestrator'],
  body: heartbeatRequest,
  handle: ({ db, input: { claimTimeoutMs, ...input } }) => heartbeat(db, { ...input, leaseMs: claimTimeoutMs }),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
