import { hostname } from 'node:os'
import path from 'node:path'
import type { Command } from 'commander'
import { exitCodes, UsageError } from '@/lib/cli/exit-codes'
import {
  type ConnectionFlags,
  type Context,
  connectedCommand,
  durationOption,
  settingsOf,
  tellMismatch,
  version,
  whole,
} from '@/lib/cli/program'
import { takeMachineName } from '@/lib/cli/work/machine-name'
import { jsonReport, liveReport, type Report } from '@/lib/cli/work/report'
import { commandHandler, StartError } from '@/lib/cli/work/run-command'
import type { Handler } from '@/lib/client/running-claim'
import { createWorker, type Worker, type WorkerEvent } from '@/lib/client/worker'
import { configDirectory } from '@/lib/process/local-servers'

interface WorkFlags extends ConnectionFlags {
  orchestrator: string
  machine: string
  concurrency: number
  lease: number
  grace: number
  killAfter: number
  retryDelay: number
  releaseHeld?: boolean
  once?: boolean
  showOutput?: boolean
}

const DAY_MS = 86_400_000
const contract = `
The command gets the payload as JSON on its standard input and in the file that DISPATCH_PAYLOAD_FILE names, and in its
environment DISPATCH_QUEUE_ID, DISPATCH_ORCHESTRATOR_ID, DISPATCH_MACHINE_ID and DISPATCH_ATTEMPT. No shell runs between.

  exit code 0    completes the work; the result is what it wrote to DISPATCH_RESULT_FILE, else its last line if that is JSON
  exit code 75   fails, and is tried again after --retry-delay
  exit code 65   fails for good: the payload is at fault, no try mends it
  anything else  fails with the end of its standard error; tried again with growing delays up to the work's attempts

A line "::progress 40 running tests" on its standard output is the work's progress. When the claim is lost or cancelled, or the
worker is stopped, SIGTERM goes to the command and all that it has started, and SIGKILL after --kill-after.

SIGTERM or Ctrl-C: claims nothing more, waits --grace for what runs, then gives it back. A second one does not wait.
`

/** `dispatch work`: turns this machine into a worker that runs a command for each claim. */
export function workCommand(context: Context): Command {
  return connectedCommand('work', 'run a command for each piece of work', [
    'work --orchestrator acme -- ./run-agent.sh',
    'work --orchestrator acme --machine laptop --concurrency 4 --lease 2m -- node agent.mjs',
    'work --orchestrator acme --once -- ./run-agent.sh',
  ])
    .requiredOption('--orchestrator <id>', 'whose work')
    .option('--machine <id>', 'this worker’s name; -2 is added while another one here has it', hostname())
    .option('--concurrency <n>', 'how many at once', whole(1, 1_000), 1)
    .addOption(
      durationOption(
        '--lease <duration>',
        'how long a claim lasts without renewal: what a dead machine costs',
        [1_000, DAY_MS],
        '2m',
      ),
    )
    .addOption(durationOption('--grace <duration>', 'what runs may take to end once stopped', [0, DAY_MS], '30s'))
    .addOption(durationOption('--kill-after <duration>', 'between SIGTERM and SIGKILL', [0, 600_000], '5s'))
    .addOption(durationOption('--retry-delay <duration>', 'after exit code 75', [0, 31 * DAY_MS], '30s'))
    .option('--release-held', 'give back what this machine held before, instead of going on with it')
    .option('--once', 'one piece of work, if there is one, and then end with what became of it')
    .option('--show-output', 'show what the commands write')
    .argument('<command...>', 'the command and its arguments, after --')
    .addHelpText('after', contract)
    .action((command: string[], flags: WorkFlags) => work(command, flags, context))
}

async function work(command: string[], flags: WorkFlags, context: Context): Promise<void> {
  const settings = settingsOf(flags, context)
  if (flags.machine.length < 1 || flags.machine.length > 190)
    throw new UsageError('--machine must have 1 to 190 characters.')
  const directory = path.join(configDirectory(context.env.XDG_CONFIG_HOME), 'machines')
  const { name, release } = await takeMachineName(directory, [settings.url, flags.orchestrator], flags.machine)
  const report = context.stdout.isTTY && !flags.json ? liveReport(context.stdout) : jsonReport(context.stdout)
  const hurry = new AbortController()
  let startFault: StartError | undefined
  const run = commandHandler({
    command,
    orchestratorId: flags.orchestrator,
    machineId: name,
    env: context.env,
    retryDelayMs: flags.retryDelay,
    killAfterMs: flags.killAfter,
    hurry: hurry.signal,
    onLine: (...line) => flags.showOutput && report.line(...line),
  })
  const handler: Handler = (job) =>
    run(job).catch((error: unknown) => {
      // A machine that cannot start the command would fail all the work there is.
      if (error instanceof StartError) {
        startFault = error
        worker.stop()
      }
      throw error
    })
  const once = new Once(() => worker.stop())
  const worker = createWorker({
    ...settings,
    version,
    onServerVersion: tellMismatch(context),
    orchestratorId: flags.orchestrator,
    machineId: name,
    concurrency: flags.once ? 1 : flags.concurrency,
    leaseMs: flags.lease,
    graceMs: flags.grace,
    held: flags.releaseHeld ? 'release' : 'resume',
    ...(flags.once && { waitMs: 0 }),
    handler,
    onEvent: (event) => {
      report.event(event)
      if (flags.once) once.see(event)
    },
  })
  await runUntilStopped(worker, hurry, report, name).finally(release)
  if (startFault !== undefined) throw new UsageError(startFault.message)
  if (flags.once) process.exitCode = once.exitCode
}

async function runUntilStopped(worker: Worker, hurry: AbortController, report: Report, name: string): Promise<void> {
  let isStopping = false
  const stop = () => {
    if (isStopping) hurry.abort()
    if (isStopping) worker.stopNow()
    else worker.stop()
    isStopping = true
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, stop)
  report.started(name)
  try {
    await worker.run()
  } finally {
    for (const signal of signals) process.off(signal, stop)
    report.close()
  }
}

/** Ends a worker after one piece of work, or when there is none, and keeps what became of it. */
class Once {
  exitCode: number = exitCodes.nothingToDo
  readonly #stop: () => void

  constructor(stop: () => void) {
    this.#stop = stop
  }

  see(event: WorkerEvent): void {
    if (event.type === 'ended') this.exitCode = this.#codeOf(event)
    if (event.type === 'disturbed') this.exitCode = event.error.isTransient ? exitCodes.unavailable : exitCodes.refused
    if (event.type === 'ended' || event.type === 'disturbed' || event.type === 'idle') this.#stop()
  }

  #codeOf({ end }: Extract<WorkerEvent, { type: 'ended' }>): number {
    if (end.how === 'completed') return exitCodes.ok
    if (end.how === 'lost') return exitCodes.refused
    return end.how === 'unreported' ? exitCodes.unavailable : exitCodes.failed
  }
}
