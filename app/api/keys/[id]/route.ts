import { methods } from '@/lib/http/methods'
import { nothing, pathRoute } from '@/lib/http/route'
import { revokeCachedKey } from '@/lib/instance/key-cache'
import { keyPath } from '@/lib/protocol/keys'

/**
 * Revokes a key: at once on this instance, within 30 s on others. 204; 404 for none. Sent twice: 204 again.
 */
const remove = pathRoute({
  roles: [],
  path: keyPath,
  query: nothing,
  status: 204,
  handle: ({ db, path }) => revokeCachedKey(db, path.id),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ DELETE: remove })
