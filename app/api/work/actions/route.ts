import { methods } from '@/lib/http/methods'
import { route } from '@/lib/http/route'
import { forgetClaimHint } from '@/lib/instance/claim-hint'
import { workActionsRequest } from '@/lib/protocol/work'
import { actOnMany } from '@/lib/queue/act-on-many'

/**
 * Releases, retries or cancels what a person saw in a list. 200 `{changed}`, the ids of those that were changed: the others have changed
 * since the person looked, or are in no state for it.
 *
 * Sent twice: the second time nothing is changed.
 */
const post = route({
  roles: [],
  body: workActionsRequest,
  handle: async ({ db, input: { action, items } }) => {
    const changed = await actOnMany(db, action, items)
    if (action !== 'cancel' && changed.length > 0) forgetClaimHint(db)
    return { changed }
  },
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
