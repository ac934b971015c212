import { methods } from '@/lib/http/methods'
import { route } from '@/lib/http/route'
import { forgetClaimHint } from '@/lib/instance/claim-hint'
import { waitingRoom } from '@/lib/instance/waiting-room'
import { releaseRequest } from '@/lib/protocol/settle'
import { release } from '@/lib/queue/release'

/**
 * Gives a claim up; the attempt does not count. 200 `{outcome: "released"}`; 409 claim-lost with the reason.
 *
 * Sent twice: 409 claim-lost with reason `released`.
 */
const post = route({
  roles: ['orchestrator'],
  body: releaseRequest,
  handle: async ({ db, config, input }) => {
    const released = await release(db, input)
    forgetClaimHint(db, input.orchestratorId)
    waitingRoom(db, config).offer(input.orchestratorId, 1)
    return released
  },
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
