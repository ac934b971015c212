import { methods } from '@/lib/http/methods'
import { route } from '@/lib/http/route'
import { overviewQuery } from '@/lib/protocol/overview'
import { overview } from '@/lib/queue/overview'

/**
 * How the queue is, and how the last hour or day was, for people. 200: counts by state (each up to 10,001), series, quantiles, and what
 * needs a person. A key that is bound to an orchestrator sees that one's only.
 */
const get = route({
  roles: ['viewer'],
  query: overviewQuery,
  handle: async ({ db, caller, input }) =>
    overview(db, {
      orchestratorId: input.orchestratorId ?? caller.orchestratorId ?? undefined,
      span: input.span ?? 'hour',
    }),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ GET: get })
