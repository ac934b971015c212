import { methods } from '@/lib/http/methods'
import { nothing, pathRoute } from '@/lib/http/route'
import { workPath } from '@/lib/protocol/work'
import { showWork } from '@/lib/queue/show-work'

/**
 * One piece of work, whole: payload, result, attempt log, and in a sentence why nobody has claimed it. 404 for none.
 */
const get = pathRoute({
  roles: ['viewer'],
  path: workPath,
  query: nothing,
  handle: ({ db, caller, path }) =>
    showWork(db, { queueId: path.queueId, orchestratorId: caller.orchestratorId ?? undefined }),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ GET: get })
