import { ProblemError } from '@/lib/http/problem'
import { answered } from '@/lib/http/route'

/** Everything under /api that is no route of ours: a 404 problem document for every method. */
const unknown = answered(async () => {
  throw new ProblemError('not-found', 'There is no such route. See the README for the routes that there are.')
})

export {
  unknown as DELETE,
  unknown as GET,
  unknown as HEAD,
  unknown as OPTIONS,
  unknown as PATCH,
  unknown as POST,
  unknown as PUT,
}
