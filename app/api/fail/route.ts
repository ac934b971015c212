import { methods } from '@/lib/http/methods'
import { route } from '@/lib/http/route'
import { forgetClaimHint } from '@/lib/instance/claim-hint'
import { failRequest } from '@/lib/protocol/settle'
import { fail } from '@/lib/queue/fail'

/**
 * Reports a failed attempt. 200 `{outcome: "retrying", availableAt}` or, for good, `{outcome: "failed"}`; 409 claim-lost.
 *
 * Sent twice: 409 claim-lost with reason `released` while it is being retried, the same answer when it failed for good.
 */
const post = route({
  roles: ['orchestrator'],
  body: failRequest,
  handle: async ({ db, input }) => {
    const failed = await fail(db, input)
    forgetClaimHint(db, input.orchestratorId)
    return failed
  },
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
