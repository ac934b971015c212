import { methods } from '@/lib/http/methods'
import { route } from '@/lib/http/route'
import { claimRequest } from '@/lib/protocol/claim'
import { claim } from '@/lib/queue/claim'

/**
 * Claims one piece of work. 200 `{claim}`, which is null when somebody else has it, or it is not due, or there is none.
 *
 * Sent twice with the same `claimToken` and `machineId`: the same claim again, one attempt counted. Without a token: the
 * second call gets null, and the first one's claim is found under `held` in the machine's next poll.
 */
const post = route({
  roles: ['orchestrator'],
  body: claimRequest,
  handle: async ({ db, config, input: { claimTimeoutMs, ...input } }) => ({
    claim: await claim(db, { ...input, leaseMs: claimTimeoutMs, defaultLeaseMs: config.claimTimeoutMs }),
  }),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
