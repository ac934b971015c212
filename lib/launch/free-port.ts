import { createServer } from 'node:net'

/** A TCP port on the loopback address that nobody listens on at this moment. */
export function freePort(): Promise<number> {
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
