import { answerWhenWork } from '@/lib/http/answer-when-work'
import { MAX_ANSWER_BYTES } from '@/lib/http/json'
import { methods } from '@/lib/http/methods'
import { announce } from '@/lib/http/poll'
import { route } from '@/lib/http/route'
import { claimNextShared } from '@/lib/instance/shared-statements'
import { claimNextRequest } from '@/lib/protocol/claim'
import type { Claim } from '@/lib/queue/claim'

/**
 * Claims up to `limit` pieces of work (1 unless told), in claim order. 200 `{claims}`, empty when there is nothing; with
 * `waitMs` the answer waits until there is something, at most so long. It starts a sweep beside the answer, as a poll does.
 *
 * Sent twice: claims other work. What a lost answer had claimed is found under `held` in the machine's next poll.
 */
const post = route({
  roles: ['orchestrator'],
  body: claimNextRequest,
  handle: async (call) => {
    announce(call)
    const { orchestratorId, machineId, limit = 1, claimTimeoutMs } = call.input
    const look = () =>
      claimNextShared(call.db, {
        orchestratorId,
        machineId,
        limit,
        maxBytes: MAX_ANSWER_BYTES,
        leaseMs: claimTimeoutMs,
        defaultLeaseMs: call.config.claimTimeoutMs,
      })
    const isEnough = (claims: Claim[]) => claims.length > 0
    return { claims: await answerWhenWork(call, { look, isEnough, nothing: [], isForHeld: false }) }
  },
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
