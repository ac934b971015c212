import type { Command } from 'commander'
import pc from 'picocolors'
import { exitCodes } from '@/lib/cli/exit-codes'
import { type ConnectionFlags, type Context, connectedCommand, version } from '@/lib/cli/program'
import { findSettings } from '@/lib/cli/settings'
import { DispatchClient } from '@/lib/client/dispatch-client'
import { DispatchError } from '@/lib/client/dispatch-error'

interface Check {
  check: string
  ok: boolean
  found: string
  /** What to do, where something is to be done. */
  advice?: string
}

const SAMPLES = 5
const MAX_SKEW_MS = 60_000

/** `dispatch doctor`: checks the way to the server, the server, and the key, and says what to do about what is wrong. */
export function doctorCommand(context: Context): Command {
  return connectedCommand('doctor', 'check URL, key, clock, latency, database and migrations', [
    'doctor',
    'doctor --json',
  ]).action(async (flags: ConnectionFlags) => {
    const checks = await runChecks(flags, context)
    if (checks.some(({ ok }) => !ok)) process.exitCode = exitCodes.failed
    for (const check of checks) context.stdout.write(flags.json ? `${JSON.stringify(check)}\n` : line(check))
  })
}

function line({ check, ok, found, advice }: Check): string {
  const text = `${ok ? pc.green('ok  ') : pc.red('bad ')} ${check.padEnd(10)} ${found}\n`
  return advice === undefined ? text : `${text}     ${''.padEnd(10)} ${pc.yellow(advice)}\n`
}

async function runChecks(flags: ConnectionFlags, { env }: Context): Promise<Check[]> {
  const { url, urlFrom, key, keyFrom } = findSettings(flags, env)
  if (url === undefined) {
    return [
      {
        check: 'url',
        ok: false,
        found: 'none is known',
        advice: 'Set DISPATCH_URL, or start a server here with: npm start',
      },
    ]
  }
  const urlCheck = { check: 'url', ok: true, found: `${url} (from ${urlFrom})` }
  const client = new DispatchClient({ url, key: key ?? '', retries: 0, version })
  const server = await checkServer(client)
  if (server.some(({ check, ok }) => check === 'reachable' && !ok)) return [urlCheck, ...server]
  const clock = await checkClock(url)
  if (key === undefined) {
    return [
      urlCheck,
      ...server,
      clock,
      { check: 'key', ok: false, found: 'none is known', advice: 'Set DISPATCH_KEY, or pass --key.' },
    ]
  }
  return [urlCheck, ...server, clock, await checkKey(client, keyFrom)]
}

async function checkServer(client: DispatchClient): Promise<Check[]> {
  const times: number[] = []
  let health: Awaited<ReturnType<DispatchClient['health']>> | undefined
  try {
    for (let n = 0; n < SAMPLES; n += 1) {
      const startedAt = performance.now()
      health = await client.health()
      times.push(performance.now() - startedAt)
    }
  } catch (error) {
    if (!(error instanceof DispatchError)) throw error
    const advice =
      error.status === 503
        ? 'The server runs, but its database does not answer or is not migrated: see its log.'
        : 'Check the URL, and that nothing (a proxy, deployment protection) answers in the server’s place.'
    return [{ check: 'reachable', ok: false, found: error.message, advice }]
  }
  const median = times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
  const isSame = health?.version === version
  return [
    { check: 'reachable', ok: true, found: `answers in ${median.toFixed(0)} ms (median of ${SAMPLES})` },
    { check: 'database', ok: health?.database === 'ok', found: health?.database ?? 'unknown' },
    {
      check: 'migrations',
      ok: health?.migrations === 'current',
      found: health?.migrations ?? 'unknown',
      ...(health?.migrations !== 'current' && { advice: 'Run npm run migrate where the server is deployed.' }),
    },
    {
      check: 'version',
      ok: isSame,
      found: `server ${health?.version}, dispatch ${version}`,
      ...(!isSame && { advice: 'Get the command that fits from the server’s /dispatch.mjs.' }),
    },
  ]
}

/** The queue goes by the database's clock alone, so a wrong one here harms nothing but the times that are shown. */
async function checkClock(url: string): Promise<Check> {
  const sentAt = Date.now()
  const answer = await fetch(new URL('/api/health', url)).catch(() => undefined)
  await answer?.body?.cancel()
  const serverTime = Date.parse(answer?.headers.get('date') ?? '')
  if (Number.isNaN(serverTime)) return { check: 'clock', ok: true, found: 'the server does not tell the time' }
  const skewMs = (sentAt + Date.now()) / 2 - serverTime - 500
  const isRight = Math.abs(skewMs) < MAX_SKEW_MS
  const found = isRight
    ? 'agrees with the server’s'
    : `is ${Math.round(Math.abs(skewMs) / 1_000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the server’s`
  return {
    check: 'clock',
    ok: isRight,
    found,
    ...(!isRight && { advice: 'Leases do not depend on it, but ages shown here do: set this machine’s clock.' }),
  }
}

/** Asks for things that cannot be done: what is refused for its form only, the key could have done. */
async function checkKey(client: DispatchClient, keyFrom: string): Promise<Check> {
  const probes: [string, () => Promise<unknown>][] = [
    ['admin', () => client.createKey({ name: '', role: 'viewer' })],
    ['viewer', () => client.listWork({ limit: 0 })],
    ['orchestrator', () => client.claimNext({ orchestratorId: '' })],
    ['producer', () => client.enqueue({ orchestratorId: '', items: [] })],
  ]
  for (const [role, probe] of probes) {
    const status = await probe().then(
      () => 200,
      (error: unknown) => (error instanceof DispatchError ? error.status : 0),
    )
    if (status === 400) return { check: 'key', ok: true, found: `is good, with the role ${role} (from ${keyFrom})` }
    if (status === 401) break
  }
  return {
    check: 'key',
    ok: false,
    found: `is refused (from ${keyFrom})`,
    advice: 'It is wrong or revoked. Make one: dispatch keys create --help',
  }
}
