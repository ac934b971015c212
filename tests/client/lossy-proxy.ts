import { createServer, type IncomingMessage, type Server, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LossyProxy {
  url: string
  /** The paths asked for so far, in order, lost answers included. */
  readonly paths: string[]
  /** From now on the server's answers to this path are lost, so many times: the request arrives, and the connection breaks. */
  loseAnswers(path: string, times: number, meanwhile?: () => Promise<void>): void
  stop(): Promise<void>
}

/** Stands between a client and the app, and loses answers after the server has done what was asked. */
export async function startLossyProxy(target: string): Promise<LossyProxy> {
  const losses = new Map<string, { times: number; meanwhile: (() => Promise<void>) | undefined }>()
  const paths: string[] = []
  const server = createServer(async (incoming, outgoing) => {
    const path = new URL(incoming.url ?? '/', target).pathname
    paths.push(path)
    const { status, headers, body } = await forward(target, incoming)
    const loss = losses.get(path)
    if (loss !== undefined && loss.times > 0) {
      loss.times -= 1
      await loss.meanwhile?.()
      incoming.socket.destroy()
      return
    }
    outgoing.writeHead(status, headers).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    paths,
    loseAnswers: (path, times, meanwhile) => losses.set(path, { times, meanwhile }),
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen')
  return address.port
}

function forward(
  target: string,
  incoming: IncomingMessage,
): Promise<{ status: number; headers: Record<string, string>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const { host: _host, connection: _connection, ...headers } = incoming.headers
    const outgoing = send(
      new URL(incoming.url ?? '/', target),
      { method: incoming.method, headers },
      async (answer) => {
        const body = Buffer.concat(await answer.toArray())
        resolve({
          status: answer.statusCode ?? 502,
          headers: Object.fromEntries(
            ['content-type', 'content-encoding', 'retry-after'].flatMap((name) => {
              const value = answer.headers[name]
              return typeof value === 'string' ? [[name, value]] : []
            }),
          ),
          body,
        })
      },
    )
    outgoing.on('error', reject)
    incoming.pipe(outgoing)
  })
}
