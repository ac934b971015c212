/** `npm start` with a tiny HTTP server in the Next app's place, which tells who it is and what it was given. */
import { getConfig } from '@/lib/config'
import { launch } from '@/lib/launch/launch'

const stubApp = `
  const { DATABASE_URL: databaseUrl, DISPATCH_ADMIN_KEY: adminKey } = process.env
  const about = JSON.stringify({ pid: process.pid, databaseUrl, adminKey })
  require('node:http').createServer((_, response) => response.end(about)).listen(Number(process.argv[2]), process.argv[1])
`

process.exit(
  await launch(getConfig(), {
    args: (host, port) => ['-e', stubApp, host, String(port)],
    environment: {},
    prepare: async () => {},
  }),
)
