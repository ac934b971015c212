import { setTimeout as sleep } from 'node:timers/promises'
import { aborted } from '@/lib/launch/aborted'
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '@/lib/launch/embedded-postgres'
import { complain, faultText, say } from '@/lib/launch/say'

interface SupervisorOptions extends EmbeddedPostgresOptions {
  /** Says nothing when the server ends and is started again. */
  readonly quiet?: boolean
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 10_000
/** After so long a run the next fault counts as the first. */
const STEADY_MS = 60_000

export interface SupervisedPostgres {
  readonly url: string
  readonly port: number
  stop(): Promise<void>
}

/**
 * Starts an embedded Postgres and keeps it running: one that dies is started again, on the same port, so that the URL
 * stays valid. Faults in a row are answered with growing pauses.
 *
 * @throws {Error} when the first start fails; later ones are told and tried again
 */
export async function superviseEmbeddedPostgres(options: SupervisorOptions): Promise<SupervisedPostgres> {
  const first = await startEmbeddedPostgres(options)
  const stopping = new AbortController()
  const over = keepRunning(first, { ...options, port: first.port }, stopping.signal)
  const stop = async () => {
    stopping.abort()
    await over
  }
  return { url: first.url, port: first.port, stop }
}

async function keepRunning(first: EmbeddedPostgres, options: SupervisorOptions, stopping: AbortSignal): Promise<void> {
  let server: EmbeddedPostgres | undefined = first
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const startedAt = Date.now()
    if (server) await Promise.race([server.exited, aborted(stopping)])
    if (stopping.aborted) return server?.stop()
    if (server && !options.quiet) complain(`Postgres has ended by itself; starting it again. Its log: ${options.log}`)
    if (server && Date.now() - startedAt > STEADY_MS) pauseMs = FIRST_PAUSE_MS
    await sleep(pauseMs, undefined, { signal: stopping }).catch(() => {})
    if (stopping.aborted) return
    server = await restart(options)
  }
}

async function restart(options: SupervisorOptions): Promise<EmbeddedPostgres | undefined> {
  try {
    const server = await startEmbeddedPostgres(options)
    if (!options.quiet) say('Postgres runs again.')
    return server
  } catch (error) {
    complain(`Postgres does not start: ${faultText(error)}`)
    return undefined
  }
}
