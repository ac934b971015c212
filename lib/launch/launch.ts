import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '@/lib/config'
import { aborted } from '@/lib/launch/aborted'
import { listenFault, originOf } from '@/lib/launch/address'
import { announceServer } from '@/lib/launch/announce-server'
import { type App, endNotedApp, forgetApp, noteApp, startApp, untilAnswering } from '@/lib/launch/app-process'
import { type DataDirectory, openDataDirectory } from '@/lib/launch/data-directory'
import { migrate, startDatabase } from '@/lib/launch/database'
import { complain, faultText, say } from '@/lib/launch/say'
import { keepSecret } from '@/lib/launch/secret-file'
import { startMessage } from '@/lib/launch/start-message'
import { stopSignal } from '@/lib/launch/stop-signal'
import type { WatchedProcess } from '@/lib/launch/watched-process'

/** How long a step of the start that is under way may take to end once a stop is asked for. */
const STEP_GRACE_MS = 1_500
/** The whole stop; what is not gone by then is stopped by its watchdog as this process ends. */
const CLOSE_LIMIT_MS = 4_800
const PORT_PATIENCE_MS = 5_000

interface Launch {
  readonly config: Config
  readonly app: App
  readonly stopping: AbortSignal
  /** Something to undo at the end; the last one first. */
  onClose(close: () => Promise<void> | void): void
}

/**
 * Runs the app with its database until it is asked to stop or the app ends, and leaves no process behind.
 *
 * @returns the exit code: 0 when asked to stop, 1 for a fault, which a sentence on standard error has told by then
 */
export async function launch(config: Config, app: App): Promise<number> {
  const stopping = stopSignal(config.isUnderNpm)
  const closing: (() => Promise<void> | void)[] = []
  const running = run({ config, app, stopping, onClose: (close) => closing.unshift(close) })
  const fault = await Promise.race([running.catch((error: unknown) => error), graceAfter(stopping)])
  if (fault !== undefined && !stopping.aborted) complain(faultText(fault))
  await Promise.race([closeAll(closing), sleep(CLOSE_LIMIT_MS)])
  return stopping.aborted ? 0 : 1
}

async function graceAfter(stopping: AbortSignal): Promise<void> {
  await aborted(stopping)
  await sleep(STEP_GRACE_MS)
}

async function closeAll(closing: readonly (() => Promise<void> | void)[]): Promise<void> {
  for (const close of closing) await close()
}

/** Ends only by throwing: when the app ends, a step fails, or (what is thrown then does not matter) a stop is asked for. */
async function run(launch: Launch): Promise<never> {
  const { config, app, stopping } = launch
  const data = config.databaseUrl === undefined ? await takeDataDirectory(launch) : undefined
  // Threads of a process that was ended may hold its port for a moment after it counts as gone.
  const hasEndedApp = data !== undefined && (await endNotedApp(data.appFile))
  await refuseTakenPort(config, hasEndedApp ? PORT_PATIENCE_MS : 0)
  await app.prepare(stopping)
  stopping.throwIfAborted()
  const { settings, adminKey } = await (data ? startEmbedded(launch, data) : migrateGiven(config))
  stopping.throwIfAborted()
  const child = startApp(app, config, settings)
  if (data) launch.onClose(() => forgetApp(data.appFile))
  launch.onClose(() => child.stop())
  if (data) await noteApp(data.appFile, child)
  await Promise.race([untilAnswering(originOf(config.host, config.port), stopping), endOf(child), aborted(stopping)])
  stopping.throwIfAborted()
  if (data) launch.onClose(announceServer(config, data))
  for (const line of await startMessage(config, adminKey, data)) say(line)
  await Promise.race([endOf(child), aborted(stopping)])
  throw stopping.reason
}

async function takeDataDirectory(launch: Launch): Promise<DataDirectory> {
  const data = await openDataDirectory(launch.config.dataDirectory)
  launch.onClose(data.release)
  return data
}

async function refuseTakenPort({ host, port }: Config, patienceMs: number): Promise<void> {
  for (const end = performance.now() + patienceMs; ; await sleep(50)) {
    const fault = await listenFault(host, port)
    if (fault === undefined) return
    if (performance.now() >= end) throw new Error(fault)
  }
}

interface Database {
  /** The app's environment beyond our own. */
  readonly settings: Record<string, string>
  readonly adminKey: string | undefined
}

async function migrateGiven(config: Config): Promise<Database> {
  if (config.unpooledDatabaseUrl !== undefined) await migrate(config.unpooledDatabaseUrl)
  return { settings: {}, adminKey: config.adminKey }
}

async function startEmbedded({ config, stopping, onClose }: Launch, data: DataDirectory): Promise<Database> {
  const postgres = await startDatabase(data, config)
  onClose(() => postgres.stop())
  stopping.throwIfAborted()
  say(`Postgres runs on 127.0.0.1:${postgres.port}; its data is in ${data.cluster}`)
  await migrate(postgres.url)
  const adminKey = config.adminKey ?? keepSecret(data.adminKeyFile)
  const settings = { DATABASE_URL: postgres.url, DATABASE_URL_UNPOOLED: postgres.url, DISPATCH_ADMIN_KEY: adminKey }
  return { settings, adminKey }
}

async function endOf(child: WatchedProcess): Promise<never> {
  const code = await child.exited
  throw new Error(`The app has ended by itself, with exit code ${code}.`)
}
