import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readLines, Tail } from '@/lib/cli/work/child-output'
import { type Handler, type Job, PermanentError, RetryLaterError } from '@/lib/client/running-claim'

export interface CommandOptions {
  command: readonly string[]
  orchestratorId: string
  machineId: string
  /** What the command gets besides the ids; the server's key is not among it. */
  env: NodeJS.ProcessEnv
  /** After exit code 75. */
  retryDelayMs: number
  /** Between asking the command's processes to end and killing them. */
  killAfterMs: number
  /** Aborts to kill at once. */
  hurry: AbortSignal
  onLine(queueId: number, stream: 'stdout' | 'stderr', line: string): void
}

/** The command could not be started at all; the machine is not fit for the work. */
export class StartError extends Error {
  override name = 'StartError'
}

/** sysexits.h: try again later, and input that no try mends. */
const EX_TEMPFAIL = 75
const EX_DATAERR = 65
/** How long what a command has written last is waited for; a process that it left behind may hold the pipe open. */
const DRAIN_MS = 500
const PROGRESS = /^::progress (\d{1,3})(?: (.*))?$/

interface Ending {
  code: number | null
  signal: NodeJS.Signals | null
}

/**
 * Runs a command for each claim: the payload as JSON on its stdin and in the file named by DISPATCH_PAYLOAD_FILE, no shell between.
 * Exit code 0 completes; see the help of `dispatch work` for the others.
 */
export function commandHandler(options: CommandOptions): Handler {
  return async (job) => {
    const directory = await mkdtemp(path.join(tmpdir(), 'dispatch-work-'))
    try {
      return await runIn(directory, job, options)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  }
}

async function runIn(directory: string, job: Job, options: CommandOptions): Promise<unknown> {
  const payload = JSON.stringify(job.payload)
  const payloadFile = path.join(directory, 'payload.json')
  const resultFile = path.join(directory, 'result.json')
  await writeFile(payloadFile, payload, { mode: 0o600 })
  const child = start(job, options, { DISPATCH_PAYLOAD_FILE: payloadFile, DISPATCH_RESULT_FILE: resultFile })
  child.stdin?.on('error', () => {}).end(payload)
  const { lastLine, errors } = follow(child, job, options)
  const ending = await endOf(child, job.signal, options)
  if (ending.code === 0) return resultOf(await readIfThere(resultFile), lastLine())
  throw failureOf(ending, errors.toString(), options)
}

/** In a process group of its own: a terminal's Ctrl-C does not reach it, and all that it starts can be ended with it. */
function start(
  job: Job,
  { command, env, orchestratorId, machineId }: CommandOptions,
  files: Record<string, string>,
): ChildProcess {
  const [program = '', ...args] = command
  const ids = {
    DISPATCH_QUEUE_ID: `${job.queueId}`,
    DISPATCH_ORCHESTRATOR_ID: orchestratorId,
    DISPATCH_MACHINE_ID: machineId,
    DISPATCH_ATTEMPT: `${job.attempt}`,
  }
  const { DISPATCH_KEY: _key, ...rest } = env
  return spawn(program, args, {
    detached: true,
    env: { ...rest, ...ids, ...files },
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
  })
}

function follow(child: ChildProcess, job: Job, { onLine }: CommandOptions) {
  let last = ''
  const errors = new Tail()
  const onOutput = (line: string) => {
    const [, percent, note] = PROGRESS.exec(line.trimEnd()) ?? []
    if (percent !== undefined) return job.heartbeat(Number(percent), note)
    if (line.trim() !== '') last = line
    onLine(job.queueId, 'stdout', line)
  }
  const onError = (line: string) => {
    errors.add(line)
    onLine(job.queueId, 'stderr', line)
  }
  if (child.stdout) readLines(child.stdout, onOutput)
  if (child.stderr) readLines(child.stderr, onError)
  return { lastLine: () => last, errors }
}

async function endOf(
  child: ChildProcess,
  stop: AbortSignal,
  { killAfterMs, hurry, command }: CommandOptions,
): Promise<Ending> {
  const kill = () => signalGroup(child, 'SIGKILL')
  let overdue: NodeJS.Timeout | undefined
  const end = () => {
    signalGroup(child, 'SIGTERM')
    overdue = setTimeout(kill, killAfterMs)
  }
  const ending = new Promise<Ending>((resolve, reject) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', (error) => reject(new StartError(`${command[0]} could not be started: ${error.message}`)))
  })
  process.once('exit', kill)
  stop.addEventListener('abort', end, { once: true })
  hurry.addEventListener('abort', kill, { once: true })
  if (stop.aborted) end()
  if (hurry.aborted) kill()
  try {
    const ended = await ending
    await Promise.race([once(child, 'close'), sleep(DRAIN_MS)])
    // What the command has started and left behind ends with a claim that is lost or given back.
    if (stop.aborted) kill()
    return ended
  } finally {
    clearTimeout(overdue)
    process.off('exit', kill)
    stop.removeEventListener('abort', end)
    hurry.removeEventListener('abort', kill)
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid === undefined) return
    if (process.platform === 'win32') child.kill(signal)
    else process.kill(-child.pid, signal)
  } catch {
    // Nothing of it is left.
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined)
}

/** The result file counts; without one, a last line that is JSON does. */
function resultOf(file: string | undefined, lastLine: string): unknown {
  if (file !== undefined && file.trim() !== '') {
    try {
      return JSON.parse(file)
    } catch {
      throw new Error('The command wrote a result file that is not JSON.')
    }
  }
  try {
    return JSON.parse(lastLine)
  } catch {
    return undefined
  }
}

function failureOf({ code, signal }: Ending, errors: string, { retryDelayMs }: CommandOptions): Error {
  const how = signal === null ? `The command ended with exit code ${code}.` : `The command was ended by ${signal}.`
  const message = errors === '' ? how : `${how}\n${errors}`
  if (code === EX_TEMPFAIL) return new RetryLaterError(message, retryDelayMs)
  if (code === EX_DATAERR) return new PermanentError(message)
  return new Error(message)
}
