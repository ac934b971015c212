import { methods } from '@/lib/http/methods'
import { nothing, route } from '@/lib/http/route'
import { createKeyRequest } from '@/lib/protocol/keys'
import { createKey } from '@/lib/queue/create-key'
import { listKeys } from '@/lib/queue/list-keys'

/** Lists all keys without their secrets, newest first. 200 `{keys}`. */
const get = route({
  roles: [],
  query: nothing,
  handle: async ({ db }) => ({ keys: await listKeys(db) }),
})

/** Makes a key. 201 with `key`, which is shown this once. Sent twice: two keys. */
const post = route({
  roles: [],
  body: createKeyRequest,
  status: 201,
  handle: ({ db, input }) => createKey(db, { ...input, orchestratorId: input.orchestratorId ?? null }),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ GET: get, POST: post })
