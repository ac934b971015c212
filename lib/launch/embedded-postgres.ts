import { closeSync, openSync, readFileSync, realpathSync, renameSync, statSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort, listenError } from '@/lib/launch/free-port'
import { type PostgresBinaries, postgresBinaries } from '@/lib/launch/postgres-binaries'
import { createCluster } from '@/lib/launch/postgres-cluster'
import { clearPostmaster, readPostmasterFile } from '@/lib/launch/postmaster-file'
import { postgresUser, type UserIds } from '@/lib/launch/unprivileged'
import { spawnWatched, type WatchedProcess } from '@/lib/launch/watched-process'
import { errorCode } from '@/lib/process/processes'

export interface EmbeddedPostgresOptions {
  /** The cluster's directory; made when there is none. One process at a time may use it: its caller sees to that. */
  readonly directory: string
  /** A free one unless told. */
  readonly port?: number
  /** User postgres's. An existing cluster keeps the one that it was made with. */
  readonly password: string
  /** Server settings beyond our own, as on the command line with -c. */
  readonly settings?: Readonly<Record<string, string>>
  /** The server log; beside the directory unless told. */
  readonly log?: string
  /** For throw-away data only: nothing is synced to disk. */
  readonly fast?: boolean
  /** Another Postgres than the one that the product comes with. */
  readonly installed?: PostgresBinaries
}

export interface EmbeddedPostgres {
  /** The database `postgres`, as its superuser. */
  readonly url: string
  urlFor(database: string): string
  readonly port: number
  /** The postmaster's. */
  readonly pid: number
  readonly directory: string
  /** Resolves when the server is gone, by stop() or otherwise. Never rejects. */
  readonly exited: Promise<void>
  /** Stops the server, open connections or not; resolves when it is gone. May be called again. */
  stop(): Promise<void>
}

const READY_TIMEOUT_MS = 30_000
/** Pauses before a server that ended at its start is tried again: an old backend may still hold the shared memory, or somebody took the free port. */
const RETRY_PAUSES_MS = [100, 300, 900]
const LOG_LIMIT_BYTES = 10_000_000

/**
 * Starts a real Postgres on 127.0.0.1 from npm's binaries, and resolves when it takes connections. It stops by itself
 * when this process dies. A server that an earlier process left running on the directory is stopped first.
 *
 * @throws {Error} with a sentence for a person: no binaries for this platform, an unreachable directory, a taken port, a password that does not fit
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const directory = path.resolve(options.directory)
  const log = path.resolve(options.log ?? `${directory}.log`)
  const user = postgresUser(directory)
  const binaries = await postgresBinaries(user, options.installed)
  createCluster({ directory, password: options.password, binaries, user, isFast: options.fast ?? false })
  await clearPostmaster(directory)
  for (const pauseMs of [...RETRY_PAUSES_MS, undefined]) {
    const port = options.port ?? (await freePort())
    const server = runServer({ ...options, directory, log, port, binaries, user })
    if (await becomesReady(server, { directory, log, port, password: options.password })) {
      return handle(server, { directory, port, password: options.password })
    }
    if (pauseMs !== undefined) await sleep(pauseMs)
  }
  throw await startFault(log, options.port)
}

type Running = EmbeddedPostgresOptions & {
  log: string
  port: number
  binaries: PostgresBinaries
  user: UserIds | undefined
}

function runServer(options: Running): WatchedProcess {
  const args = ['-D', options.directory, '-h', '127.0.0.1', '-p', String(options.port)]
  for (const [name, value] of Object.entries({ ...settingsOf(options.fast), ...options.settings }))
    args.push('-c', `${name}=${value}`)
  rotate(options.log)
  const output = openSync(options.log, 'a', 0o600)
  try {
    return spawnWatched(
      {
        command: options.binaries.postgres,
        args,
        ...options.user,
        // Fast shutdown, then immediate: the server replays its log at the next start. All within five seconds.
        stopBy: [
          { signal: 'SIGINT', afterMs: 0 },
          { signal: 'SIGQUIT', afterMs: 1_500 },
          { signal: 'SIGKILL', afterMs: 2_200 },
        ],
      },
      { output, cwd: path.dirname(options.directory) },
    )
  } finally {
    closeSync(output)
  }
}

function settingsOf(isFast = false): Record<string, string> {
  const always = { unix_socket_directories: '', timezone: 'UTC', log_timezone: 'UTC', lc_messages: 'C' }
  return isFast ? { ...always, fsync: 'off', full_page_writes: 'off' } : always
}

function rotate(log: string): void {
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0
  if (size > LOG_LIMIT_BYTES) renameSync(log, `${log}.old`)
}

interface Target {
  readonly directory: string
  readonly port: number
  readonly password: string
}

/** True when the server takes connections, false when it ended instead. */
async function becomesReady(server: WatchedProcess, target: Target & { log: string }): Promise<boolean> {
  const end = Date.now() + READY_TIMEOUT_MS
  while (!server.hasExited()) {
    const fault = await connectFault(target)
    if (fault === undefined) return true
    const isRefused = errorCode(fault) === '28P01' && readPostmasterFile(target.directory)?.isReady
    if (isRefused || Date.now() > end) {
      await server.stop()
      throw new Error(isRefused ? `The Postgres in ${target.directory} has another password.` : slowStart(target.log), {
        cause: fault,
      })
    }
    await sleep(25)
  }
  return false
}

function slowStart(log: string): string {
  return `Postgres did not take connections within ${READY_TIMEOUT_MS / 1_000} s; its log is ${log}.`
}

/** Asks for the data directory, so that another server which took the port is not mistaken for ours. */
async function connectFault({ directory, port, password }: Target): Promise<unknown> {
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    database: 'postgres',
    password,
    ssl: false,
    connectionTimeoutMillis: 1_500,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const answer = await client.query<{ directory: string }>(`select current_setting('data_directory') as directory`)
    const found = answer.rows[0]?.directory ?? ''
    return realpathSync(found) === realpathSync(directory) ? undefined : new Error(`port ${port} belongs to ${found}`)
  } catch (error) {
    return error
  } finally {
    await client.end().catch(() => {})
  }
}

function handle(server: WatchedProcess, { directory, port, password }: Target): EmbeddedPostgres {
  const urlFor = (database: string) =>
    `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${encodeURIComponent(database)}`
  return {
    url: urlFor('postgres'),
    urlFor,
    port,
    pid: readPostmasterFile(directory)?.pid ?? 0,
    directory,
    exited: server.exited.then(() => {}),
    stop: () => server.stop(),
  }
}

async function startFault(log: string, port: number | undefined): Promise<Error> {
  if (port !== undefined && (await listenError('127.0.0.1', port)) !== undefined) {
    return new Error(`Postgres cannot start: port ${port} is taken by another program.`)
  }
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-5)
  return new Error(`Postgres ended at its start; the end of its log ${log} is:\n${lines.join('\n')}`)
}
