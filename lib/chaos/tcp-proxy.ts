import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Passes TCP connections on to one of several ports of this machine, each in turn; one that nobody listens on is passed over.
 * Connections can be cut, or made to stand still.
 */
export class TcpProxy {
  readonly #targets: readonly number[]
  readonly #server = createServer({ noDelay: true }, (client) => void this.#pass(client))
  readonly #sockets = new Set<Socket>()
  #turn = 0
  #port = 0

  constructor(targets: readonly number[]) {
    this.#targets = targets
  }

  /** Where it listens, on the loopback address. */
  get port(): number {
    return this.#port
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', resolve)
    })
    const address = this.#server.address()
    this.#port = typeof address === 'object' && address ? address.port : 0
  }

  /** Cuts all connections at once, in the middle of whatever they carry. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Nothing passes for a while, in either direction; what was sent meanwhile arrives afterwards. */
  async stall(forMs: number, signal: AbortSignal): Promise<void> {
    const stalled = [...this.#sockets]
    for (const socket of stalled) socket.pause()
    await sleep(forMs, undefined, { signal }).catch(() => {})
    for (const socket of stalled) socket.resume()
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.cut()
    await closed
  }

  async #pass(client: Socket): Promise<void> {
    this.#keep(client)
    const target = await this.#connect()
    if (target === undefined || client.destroyed) {
      target?.destroy()
      client.destroy()
      return
    }
    this.#keep(target)
    client.pipe(target)
    target.pipe(client)
    // Whoever goes first, the other end learns of it.
    client.once('close', () => target.destroy())
    target.once('close', () => client.destroy())
  }

  async #connect(): Promise<Socket | undefined> {
    for (const _each of this.#targets) {
      this.#turn = (this.#turn + 1) % this.#targets.length
      const port = this.#targets[this.#turn]
      const socket = port === undefined ? undefined : await tryConnect(port)
      if (socket) return socket
    }
    return undefined
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }
}

function tryConnect(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
}
