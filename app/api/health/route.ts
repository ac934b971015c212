import { getDb } from '@/lib/db/client'
import { checkHealth } from '@/lib/db/health'
import { jsonResponse } from '@/lib/http/json'
import { methods } from '@/lib/http/methods'
import { answered } from '@/lib/http/route'

/** Whether the queue can work. 200 or 503 `{ok, database, migrations, version}`; needs no key and tells nothing else. */
const get = answered(async () => {
  const health = await checkHealth(getDb)
  return jsonResponse(health, health.ok ? 200 : 503)
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = methods({ GET: get })
