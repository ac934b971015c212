import { methods } from '@/lib/http/methods'
import { requireSize } from '@/lib/http/payload-size'
import { route } from '@/lib/http/route'
import { completeShared } from '@/lib/instance/shared-statements'
import { completeRequest } from '@/lib/protocol/settle'

/**
 * Finishes claimed work. 200 `{outcome: "completed"}`; 409 claim-lost with the reason; 413 for a result that is too large,
 * with the claim still open.
 *
 * Sent twice: the same answer, and one record.
 */
const post = route({
  roles: ['orchestrator'],
  body: completeRequest,
  handle: async ({ db, config, input }) => {
    requireSize(input.result, 'result', config)
    return completeShared(db, input)
  },
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
