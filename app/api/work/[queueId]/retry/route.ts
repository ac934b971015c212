import { methods } from '@/lib/http/methods'
import { nothing, pathRoute } from '@/lib/http/route'
import { forgetClaimHint } from '@/lib/instance/claim-hint'
import { workPath } from '@/lib/protocol/work'
import { retry } from '@/lib/queue/retry'

/**
 * Puts failed or cancelled work back into the queue. 200 `{outcome: "queued"}`; 404; 409 wrong-state with the present state.
 *
 * Sent twice: 409 wrong-state with the state that it is in by then.
 */
const post = pathRoute({
  roles: [],
  path: workPath,
  query: nothing,
  handle: async ({ db, path }) => {
    const answer = await retry(db, path.queueId)
    forgetClaimHint(db)
    return answer
  },
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
