import { methods } from '@/lib/http/methods'
import { requireSize } from '@/lib/http/payload-size'
import { route } from '@/lib/http/route'
import { completeBatchRequest } from '@/lib/protocol/settle'
import { completeBatch } from '@/lib/queue/complete-batch'

/**
 * Finishes up to 100 claims. 200 `{results}` in the order of the request, each completed or lost; any invalid entry: 400,
 * and nothing is done.
 *
 * Sent twice: the same answer, and one record each.
 */
const post = route({
  roles: ['orchestrator'],
  body: completeBatchRequest,
  handle: async ({ db, config, input }) => {
    for (const [index, { result }] of input.claims.entries()) requireSize(result, `claims[${index}].result`, config)
    return { results: await completeBatch(db, input) }
  },
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
