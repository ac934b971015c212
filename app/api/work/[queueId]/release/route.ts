import { methods } from '@/lib/http/methods'
import { nothing, pathRoute } from '@/lib/http/route'
import { forgetClaimHint } from '@/lib/instance/claim-hint'
import { workPath } from '@/lib/protocol/work'
import { releaseByPerson } from '@/lib/queue/release-by-person'

/**
 * Takes claimed work away from its holder, for anyone to claim. 200 `{outcome: "released"}`; 404; 409 wrong-state.
 *
 * Sent twice: 409 wrong-state with the state that it is in by then.
 */
const post = pathRoute({
  roles: [],
  path: workPath,
  query: nothing,
  handle: async ({ db, path }) => {
    const answer = await releaseByPerson(db, path.queueId)
    forgetClaimHint(db)
    return answer
  },
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
