import { writeFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import pc from 'picocolors'
import { exitCodes } from '@/lib/cli/exit-codes'
import {
  type ConnectionFlags,
  type Context,
  connectedCommand,
  durationOption,
  settingsOf,
  whole,
} from '@/lib/cli/program'
import { allFaults } from '@/lib/prove/faults'
import { type FleetOptions, runFleet } from '@/lib/prove/fleet'
import { asMarkdown, type ProveReport, reportOf } from '@/lib/prove/report'

export interface FleetFlags {
  machines: number
  items: number
  minutes: number
  lease: number
  faults: ReadonlySet<string>
  markdown?: string
  json?: boolean
}

const about = `
It works in an orchestrator of its own, cancels in the end what is live of it, and leaves history to pruning. Needs an admin key.
Exit code 0 and "0 violations", or 1 and the whole story of each row at fault.
`

/** Of the time that a fleet has, the work comes in over this share; the rest is for finishing it. */
const COMING_IN = 0.7

/** `dispatch prove`: lets a fleet of misbehaving machines loose on a server, and checks that it kept its promises. */
export function proveCommand(context: Context): Command {
  const command = connectedCommand(
    'prove',
    'let misbehaving machines loose on a server, and check that it keeps its promises',
    [
      'prove',
      'prove --machines 500 --items 20000 --minutes 10 --markdown report.md',
      'prove --faults deaths,lost-answers --json',
    ],
  )
  return withFleetOptions(command, allFaults)
    .addHelpText('after', about)
    .action(async (flags: FleetFlags & ConnectionFlags) => {
      const onProgress = watchProgress(flags, context)
      const result = await runFleet({ ...fleetOptionsOf(flags), ...settingsOf(flags, context), onProgress })
      tellReport(reportOf(result), flags, context)
    })
}

/** Gives a command the options of a fleet. */
export function withFleetOptions(command: Command, faults: readonly string[]): Command {
  return command
    .option('--machines <n>', 'how many machines', whole(1, 10_000), 200)
    .option('--items <n>', 'how many pieces of work', whole(1, 1_000_000), 5_000)
    .option('--minutes <n>', 'how long the fleet lives at most; it ends when all is done', whole(1, 1_440), 2)
    .addOption(durationOption('--lease <duration>', 'of each claim', [1_000, 600_000], '3s'))
    .option('--faults <list>', `all, none, or some of ${faults.join(', ')}`, faultsOf(faults), new Set(faults))
    .option('--markdown <path>', 'write the report to a file, too')
}

const faultsOf = (known: readonly string[]) => (text: string) => {
  if (text === 'all') return new Set(known)
  if (text === 'none') return new Set<string>()
  const chosen = known.filter((fault) => text.split(',').includes(fault))
  if (chosen.length === text.split(',').length) return new Set(chosen)
  throw new InvalidArgumentError(`They are all, none, or some of ${known.join(', ')}.`)
}

/** What the flags say of a fleet. */
export function fleetOptionsOf({
  machines,
  items,
  minutes,
  lease,
  faults,
}: FleetFlags): Omit<FleetOptions, 'url' | 'key'> {
  const limitMs = minutes * 60_000
  return { machines, items, limitMs, spreadMs: limitMs * COMING_IN, leaseMs: lease, faults }
}

/** Shows on a terminal how much is done. */
export function watchProgress(
  { items, json }: FleetFlags,
  { stderr }: Pick<Context, 'stderr'>,
): (done: number) => void {
  const isWatched = stderr.isTTY && !json
  return (done) => {
    if (isWatched) stderr.write(`\r${done} of ${items} completed `)
  }
}

/** Writes a report where it is wanted, and sets the exit code. */
export function tellReport(
  report: ProveReport,
  { markdown, json }: FleetFlags,
  { stdout, stderr }: Pick<Context, 'stdout' | 'stderr'>,
): void {
  if (stderr.isTTY && !json) stderr.write('\r')
  if (markdown !== undefined) writeFileSync(markdown, `${asMarkdown(report)}\n`)
  stdout.write(`${json ? JSON.stringify(report) : asMarkdown(report)}\n`)
  if (report.violations.length > 0) process.exitCode = exitCodes.failed
  if (!json) stderr.write(`${report.violations.length === 0 ? pc.green(report.verdict) : pc.red(report.verdict)}\n`)
}
