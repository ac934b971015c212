import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { serverFaults } from '@/lib/chaos/server-faults'
import { TcpProxy } from '@/lib/chaos/tcp-proxy'
import { freePort } from '@/lib/launch/free-port'
import { ROOT } from '@/lib/launch/root'
import { allFaults } from '@/lib/prove/faults'

describe('the proxy that connections are cut at', () => {
  const closing: (() => unknown)[] = []
  afterAll(() => Promise.all(closing.map((close) => close())))

  /** A server that says its name to whoever connects, and then repeats what it hears. */
  async function startServer(name: string) {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.write(name)
      socket.pipe(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => server.close())
    const address = server.address()
    return typeof address === 'object' && address ? address.port : 0
  }

  async function startProxy(targets: readonly number[]) {
    const proxy = new TcpProxy(targets)
    await proxy.listen()
    closing.push(() => proxy.close())
    return proxy
  }

  async function dial(port: number) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    const [data] = await once(socket, 'data')
    return { socket, name: String(data) }
  }

  test('gives each target its turn, and passes over one that is down', async () => {
    const proxy = await startProxy([await startServer('one'), await freePort(), await startServer('three')])
    const names: string[] = []
    for (let n = 0; n < 6; n += 1) names.push((await dial(proxy.port)).name)
    expect(new Set(names)).toStrictEqual(new Set(['one', 'three']))
  })

  test('cuts what is open, and serves who connects afterwards', async () => {
    const proxy = await startProxy([await startServer('one')])
    const { socket } = await dial(proxy.port)
    const closed = once(socket, 'close')
    proxy.cut()
    await closed
    expect((await dial(proxy.port)).name).toBe('one')
  })

  test('lets nothing pass while it stalls, and everything afterwards', async () => {
    const proxy = await startProxy([await startServer('one')])
    const { socket } = await dial(proxy.port)
    const waking = new AbortController()
    const stalled = proxy.stall(60_000, waking.signal)
    const answer = once(socket, 'data')
    socket.write('hello')
    expect(await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 200, 'nothing'))])).toBe('nothing')
    waking.abort()
    await stalled
    expect(String((await answer)[0])).toBe('hello')
  })
})

const report = z.object({
  verdict: z.string(),
  violations: z.array(z.unknown()),
  faults: z.record(z.string(), z.number()),
  statementsPerClaim: z.number(),
})

test('`npm run prove`: a fleet, three instances and a Postgres that are killed and cut off: 0 violations', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', 'lib/chaos/main.ts', '--machines', '24', '--items', '600', '--minutes', '1', '--json'],
    { cwd: ROOT, maxBuffer: 1e8 },
  )
  const { verdict, violations, faults, statementsPerClaim } = report.parse(JSON.parse(stdout))
  expect(violations).toStrictEqual([])
  expect(verdict).toBe('0 violations')
  expect(statementsPerClaim).toBeGreaterThan(1)
  for (const fault of [...allFaults, ...serverFaults]) expect(faults[fault], fault).toBeGreaterThan(0)
})
