import { methods } from '@/lib/http/methods'
import { nothing, pathRoute } from '@/lib/http/route'
import { workPath } from '@/lib/protocol/work'
import { cancel } from '@/lib/queue/cancel'

/**
 * Takes live work out of the queue for good. 200 `{outcome: "cancelled"}`; 404; 409 wrong-state with the present state.
 *
 * Sent twice: 409 wrong-state with state `cancelled`.
 */
const post = pathRoute({
  roles: [],
  path: workPath,
  query: nothing,
  handle: ({ db, path }) => cancel(db, path.queueId),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
