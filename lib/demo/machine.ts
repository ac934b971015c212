import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { environmentWith } from '@/lib/config'
import type { DemoServer } from '@/lib/demo/server'
import { ROOT } from '@/lib/launch/root'

/** What a worker's JSON lines tell; see `dispatch work --json`. */
const workerEvent = z.object({
  event: z.string(),
  machineId: z.string(),
  queueId: z.number().optional(),
  attempts: z.number().optional(),
  progress: z.number().optional(),
  note: z.string().optional(),
  how: z.string().optional(),
})

export type MachineEvent = z.output<typeof workerEvent>

/** A worker in a process of its own, as on a machine of its own. */
export interface Machine {
  readonly name: string
  /** As a machine dies whose power is cut. */
  kill(): void
  stop(): Promise<void>
}

/** A claim lasts so long without renewal: what the death of a machine costs here. */
export const LEASE_SECONDS = 5

export function startMachine(
  name: string,
  server: DemoServer,
  key: string,
  onEvent: (event: MachineEvent) => void,
): Machine {
  const command = [process.execPath, '--import', 'tsx', path.join(ROOT, 'lib', 'demo', 'agent.ts')]
  const options = [
    '--orchestrator',
    'demo',
    '--machine',
    name,
    '--concurrency',
    '2',
    '--lease',
    `${LEASE_SECONDS}s`,
    '--json',
  ]
  const child = spawn(
    process.execPath,
    [path.join(ROOT, 'public', 'dispatch.mjs'), 'work', ...options, '--', ...command],
    {
      cwd: ROOT,
      env: environmentWith({
        DISPATCH_URL: server.url,
        DISPATCH_KEY: key,
        XDG_CONFIG_HOME: path.join(server.directory, 'config'),
      }),
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    },
  )
  createInterface({ input: child.stdout }).on('line', (line) => onEvent(workerEvent.parse(JSON.parse(line))))
  return { name, kill: () => void child.kill('SIGKILL'), stop: () => stop(child) }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}
