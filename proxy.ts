import { randomBytes } from 'node:crypto'
import { type NextRequest, NextResponse } from 'next/server'

// React's development build evaluates code to show where an error came from.
const evaluation = process.env.NODE_ENV === 'development' ? " 'unsafe-eval'" : ''

/**
 * Gives each page a Content-Security-Policy of its own, under which no script runs but those that carry this answer's nonce and
 * those that they load (CSP Level 3, `strict-dynamic`). Next takes the nonce from the request's header for its own scripts.
 */
export function proxy(request: NextRequest): NextResponse {
  const nonce = randomBytes(16).toString('base64')
  const policy = [
    "default-src 'self'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'${evaluation}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')
  const headers = new Headers(request.headers)
  headers.set('content-security-policy', policy)
  const response = NextResponse.next({ request: { headers } })
  response.headers.set('content-security-policy', policy)
  return response
}

export const config = { matcher: ['/((?!api/|_next/|.*\\.).*)'] }
