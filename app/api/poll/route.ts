import { MAX_ANSWER_BYTES } from '@/lib/http/json'
import { methods } from '@/lib/http/methods'
import { announcePoll, pollAfterMs } from '@/lib/http/poll'
import { route } from '@/lib/http/route'
import { pollQuery, pollRequest } from '@/lib/protocol/poll'
import { poll } from '@/lib/queue/poll'

/**
 * Lists what may be claimed, and what this machine still holds. 200 `{queued, held, pollAfterMs}`. It changes nothing by
 * itself, and starts a sweep of abandoned claims beside the answer.
 */
const get = route({
  roles: ['orchestrator'],
  query: pollQuery,
  handle: async (call) => {
    announcePoll(call)
    const { queued, held } = await poll(call.db, {
      ...call.input,
      limit: call.input.limit ?? 20,
      maxBytes: MAX_ANSWER_BYTES,
    })
    return { queued, held, pollAfterMs: pollAfterMs(queued.length) }
  },
})

/**
 * One call for a working machine: renews the claims named under `holding`, lists new work, and says which claims it must
 * stop working on. 200 `{queued, held, renewed, lost, pollAfterMs}`. Sent twice: the leases run from the later one.
 */
const post = route({
  roles: ['orchestrator'],
  body: pollRequest,
  handle: async (call) => {
    announcePoll(call)
    const answer = await poll(call.db, { ...call.input, limit: call.input.limit ?? 20, maxBytes: MAX_ANSWER_BYTES })
    return { ...answer, pollAfterMs: pollAfterMs(answer.queued.length) }
  },
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ GET: get, POST: post })
