import { methods } from '@/lib/http/methods'
import { route } from '@/lib/http/route'
import { workQuery } from '@/lib/protocol/work'
import { listWork } from '@/lib/queue/list-work'

/**
 * Lists live work and history for people, newest first unless `order` is `oldest`. 200 `{items, nextCursor}`. A key that is bound to an orchestrator
 * sees that one's work only.
 */
const get = route({
  roles: ['viewer'],
  query: workQuery,
  handle: ({ db, caller, input: { cursor, limit, ...filter } }) =>
    listWork(db, {
      ...filter,
      orchestratorId: filter.orchestratorId ?? caller.orchestratorId ?? undefined,
      after: cursor,
      limit: limit ?? 20,
    }),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ GET: get })
