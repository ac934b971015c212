import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below the ports that systems give to outgoing connections, one of which could take a port while its server restarts. */
const LOWEST = 10_000
const HIGHEST = 32_000
const TRIES = 50

/** A TCP port on the loopback address that nobody listens on at this moment. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(LOWEST, HIGHEST)
    if ((await listenError('127.0.0.1', port)) === undefined) return port
  }
  return listenOnce('127.0.0.1', 0)
}

/** Why this process could not listen at an address at this moment; undefined when it could. */
export async function listenError(host: string, port: number): Promise<unknown> {
  return listenOnce(host, port).then(
    () => undefined,
    (error: unknown) => error,
  )
}

function listenOnce(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port))
    })
  })
}
