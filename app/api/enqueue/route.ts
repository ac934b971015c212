import { methods } from '@/lib/http/methods'
import { requireSize } from '@/lib/http/payload-size'
import { route } from '@/lib/http/route'
import { makeRoomBeforeClaimHint } from '@/lib/instance/claim-hint'
import { waitingRoom } from '@/lib/instance/waiting-room'
import { enqueueRequest } from '@/lib/protocol/enqueue'
import { enqueue } from '@/lib/queue/enqueue'

/**
 * Puts work into the queue, and wakes as many of those who wait for it on this instance. 201 `{items: [{queueId, enqueued}]}` in the order of the request.
 *
 * Sent twice: items with an `enqueueId` (ever) or a `dedupeKey` (while live) make no second row; others do.
 */
const post = route({
  roles: ['producer'],
  body: enqueueRequest,
  status: 201,
  handle: async ({ db, config, input }) => {
    for (const [index, item] of input.items.entries()) requireSize(item.payload, `items[${index}].payload`, config)
    const items = await enqueue(db, { ...input, defaultMaxAttempts: config.maxAttempts })
    const due = input.items.filter(({ delayMs }, index) => items[index]?.enqueued && !delayMs)
    makeRoomBeforeClaimHint(db, input.orchestratorId, Math.min(...due.map(({ priority = 0 }) => priority)))
    waitingRoom(db, config).offer(input.orchestratorId, due.length)
    return { items }
  },
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ POST: post })
