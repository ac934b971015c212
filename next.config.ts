import type { NextConfig } from 'next'

// What is no page gets this one; pages get their own in proxy.ts.
const contentSecurityPolicy = "default-src 'none'; frame-ancestors 'none'"

const config: NextConfig = {
  poweredByHeader: false,
  // A malformed percent-escape in a dynamic segment is a 500 of the framework's. No path of the API needs an escape, so
  // all of them go to the API's own 404 before the router decodes them.
  rewrites: async () => ({
    beforeFiles: [{ source: '/api/:path(.*%.*)', destination: '/api/unknown-route' }],
    afterFiles: [],
    fallback: [],
  }),
  headers: async () => [
    { source: '/api/:path*', headers: [{ key: 'Content-Security-Policy', value: contentSecurityPolicy }] },
    {
      source: '/:path*',
      headers: [
        { key: 'X-Frame-Options', value: 'DENY' },
        { key: 'X-Content-Type-Options', value: 'nosniff' },
        // Not no-referrer: browsers then send `Origin: null` with our own forms, which cannot be told from another site's.
        { key: 'Referrer-Policy', value: 'same-origin' },
      ],
    },
  ],
  // A lockfile in a parent folder would otherwise move the root.
  turbopack: { root: import.meta.dirname },
}

export default config
