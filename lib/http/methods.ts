import { ProblemError } from '@/lib/http/problem'
import { answered, type Handler } from '@/lib/http/route'

type Method = 'GET' | 'POST' | 'DELETE'
type Methods = Record<'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS', Handler>

/**
 * A route's exports for every method: HEAD answers as GET does (the server drops the body), OPTIONS says what is allowed
 * (RFC 9110, section 9.3.7), and what the route does not have is a 405 problem document.
 */
export function methods(handlers: Partial<Record<Method, Handler>>): Methods {
  const names = Object.keys(handlers)
  const allow = [...names, ...(handlers.GET === undefined ? [] : ['HEAD']), 'OPTIONS'].join(', ')
  const refused = answered(async (request) => {
    throw new ProblemError(
      'method-not-allowed',
      `${request.method} is not allowed here. Allowed: ${allow}.`,
      {},
      { allow },
    )
  })
  return {
    GET: handlers.GET ?? refused,
    HEAD: handlers.GET ?? refused,
    POST: handlers.POST ?? refused,
    PUT: refused,
    PATCH: refused,
    DELETE: handlers.DELETE ?? refused,
    OPTIONS: answered(async () => new Response(null, { status: 204, headers: { allow } })),
  }
}
