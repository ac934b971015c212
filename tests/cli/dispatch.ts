import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, onTestFinished } from 'vitest'
import { z } from 'zod'
import { ensureBuilt } from '@/lib/launch/build'
import { ROOT } from '@/lib/launch/root'

/** An empty folder with nothing but the one file; it is all that a machine needs besides Node. */
export const home = mkdtempSync(path.join(tmpdir(), 'dispatch-cli-'))
await ensureBuilt()
copyFileSync(path.join(ROOT, 'public', 'dispatch.mjs'), path.join(home, 'dispatch.mjs'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

export interface Options {
  env?: Record<string, string>
  input?: string
}

export interface Run {
  code: number | null
  stdout: string
  stderr: string
}

function spawnDispatch(args: readonly string[], { env }: Options): ChildProcess {
  const { PATH = '' } = process.env
  return spawn(process.execPath, ['dispatch.mjs', ...args], {
    cwd: home,
    env: { NODE_ENV: 'test', PATH, HOME: home, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/** Reads a stream. @returns what has come so far */
function collect(stream: Readable | null): () => string {
  const chunks: Buffer[] = []
  stream?.on('data', (chunk) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString('utf8')
}

/** Runs the command to its end. */
export async function dispatch(args: readonly string[], options: Options = {}): Promise<Run> {
  const child = spawnDispatch(args, options)
  onTestFinished(() => void child.kill('SIGKILL'))
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
  child.stdin?.on('error', () => {}).end(options.input ?? '')
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, stdout: stdout(), stderr: stderr() }
}

const workerEvent = z.looseObject({ event: z.string(), machineId: z.string(), queueId: z.number().optional() })
type SeenEvent = z.output<typeof workerEvent>

export interface RunningWorker {
  readonly pid: number
  readonly events: readonly SeenEvent[]
  readonly exited: Promise<number | null>
  stderr(): string
  /** Resolves with the first event, past or to come, that fits. */
  until(fits: (event: SeenEvent) => boolean): Promise<SeenEvent>
  signal(name: NodeJS.Signals): void
}

/** Starts `dispatch work`; it is killed when the test is over. */
export function startWork(args: readonly string[], options: Options = {}): RunningWorker {
  const child = spawnDispatch(['work', '--json', ...args], options)
  const events: SeenEvent[] = []
  const waiting = new Set<() => void>()
  const stderr = collect(child.stderr)
  let rest = ''
  child.stdin?.end()
  child.stdout?.on('data', (data) => {
    const lines = `${rest}${data}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) events.push(workerEvent.parse(JSON.parse(line)))
    for (const look of waiting) look()
  })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  onTestFinished(async () => {
    child.kill('SIGCONT')
    child.kill('SIGKILL')
    await exited
  })
  const until = (fits: (event: SeenEvent) => boolean) =>
    new Promise<SeenEvent>((resolve, reject) => {
      const look = () => {
        const found = events.find(fits)
        if (found === undefined) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      void exited.then(() => reject(new Error(`it ended first: ${stderr()}\n${JSON.stringify(events)}`)))
      look()
    })
  return { pid: child.pid ?? 0, events, exited, stderr, until, signal: (name) => void child.kill(name) }
}

let scripts = 0

/** A shell script that can be run, in the folder. @returns its path */
export function script(body: string, mode = 0o755): string {
  scripts += 1
  const file = path.join(home, `script-${scripts}.sh`)
  writeFileSync(file, `#!/bin/sh\n${body}\n`)
  chmodSync(file, mode)
  return file
}
