import { methods } from '@/lib/http/methods'
import { answerPoll } from '@/lib/http/poll'
import { route } from '@/lib/http/route'
import { pollQuery, pollRequest } from '@/lib/protocol/poll'

/**
 * Lists what may be claimed, and what this machine still holds. 200 `{queued, held, pollAfterMs}`. With `waitMs` the answer
 * waits until something may be claimed, at most so long. It changes nothing by itself, and starts a sweep of abandoned
 * claims beside the answer.
 */
const get = route({
  roles: ['orchestrator'],
  query: pollQuery,
  handle: async (call) => {
    const { queued, held, pollAfterMs } = await answerPoll(call, true)
    return { queued, held, pollAfterMs }
  },
})

/**
 * One call for a working machine: renews the claims named under `holding`, lists new work, and says which claims it must
 * stop working on. 200 `{queued, held, renewed, lost, pollAfterMs}`. With `waitMs` the answer waits until one of `queued`,
 * `held` and `lost` has an entry; leases are renewed as the call arrives. Sent twice: they run from the later one.
 */
const post = route({
  roles: ['orchestrator'],
  body: pollRequest,
  handle: (call) => answerPoll(call, false),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ GET: get, POST: post })
