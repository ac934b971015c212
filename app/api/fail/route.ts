import { methods } from '@/lib/http/methods'
import { route } from '@/lib/http/route'
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
  handle: ({ db, input }) => fail(db, input),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
