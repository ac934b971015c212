import { MAX_ANSWER_BYTES } from '@/lib/http/json'
import { methods } from '@/lib/http/methods'
import { route } from '@/lib/http/route'
import { claimNextRequest } from '@/lib/protocol/claim'
import { claimNext } from '@/lib/queue/claim-next'

/**
 * Claims up to `limit` pieces of work (1 unless told), in claim order. 200 `{claims}`, empty when there is nothing.
 *
 * Sent twice: claims other work. What a lost answer had claimed is found under `held` in the machine's next poll.
 */
const post = route({
  roles: ['orchestrator'],
  body: claimNextRequest,
  handle: async ({ db, config, input: { orchestratorId, machineId, limit, claimTimeoutMs } }) => ({
    claims: await claimNext(db, {
      orchestratorId,
      machineId,
      limit: limit ?? 1,
      maxBytes: MAX_ANSWER_BYTES,
      leaseMs: claimTimeoutMs,
      defaultLeaseMs: config.claimTimeoutMs,
    }),
  }),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
