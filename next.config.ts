import type { NextConfig } from 'next'

const config: NextConfig = {
  poweredByHeader: false,
  // A malformed percent-escape in a dynamic segment is a 500 of the framework's. No path of the API needs an escape, so
  // all of them go to the API's own 404 before the router decodes them.
  rewrites: async () => ({
    beforeFiles: [{ source: '/api/:path(.*%.*)', destination: '/api/unknown-route' }],
    afterFiles: [],
    fallback: [],
  }),
  // A lockfile in a parent folder would otherwise move the root.
  turbopack: { root: import.meta.dirname },
}

export default config
