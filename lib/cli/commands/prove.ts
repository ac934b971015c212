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
import { allFaults, type Fault } from '@/lib/prove/faults'
import { runFleet } from '@/lib/prove/fleet'
import { asMarkdown, reportOf } from '@/lib/prove/report'

interface ProveFlags extends ConnectionFlags {
  machines: number
  items: number
  limit: number
  lease: number
  faults: ReadonlySet<Fault>
  markdown?: string
}

const about = `
It works in an orchestrator of its own, cancels in the end what is live of it, and leaves history to pruning. Needs an admin key.
Exit code 0 and "0 violations", or 1 and the whole story of each row at fault.
`

/** `dispatch prove`: lets a fleet of misbehaving machines loose on a server, and checks that it kept its promises. */
export function proveCommand(context: Context): Command {
  return connectedCommand('prove', 'let misbehaving machines loose on a server, and check that it keeps its promises', [
    'prove',
    'prove --machines 500 --items 20000 --limit 10m --markdown report.md',
    'prove --faults deaths,lost-answers --json',
  ])
    .option('--machines <n>', 'how many machines', whole(1, 10_000), 50)
    .option('--items <n>', 'how many pieces of work', whole(1, 1_000_000), 1_000)
    .addOption(
      durationOption(
        '--limit <duration>',
        'the fleet is stopped after that, finished or not',
        [1_000, 86_400_000],
        '2m',
      ),
    )
    .addOption(durationOption('--lease <duration>', 'of each claim', [1_000, 600_000], '3s'))
    .option('--faults <list>', `all, none, or some of ${allFaults.join(', ')}`, faultsOf, new Set(allFaults))
    .option('--markdown <path>', 'write the report to a file, too')
    .addHelpText('after', about)
    .action((flags: ProveFlags) => prove(flags, context))
}

function faultsOf(text: string): ReadonlySet<Fault> {
  if (text === 'all') return new Set(allFaults)
  if (text === 'none') return new Set()
  const chosen = allFaults.filter((fault) => text.split(',').includes(fault))
  if (chosen.length === text.split(',').length) return new Set(chosen)
  throw new InvalidArgumentError(`They are all, none, or some of ${allFaults.join(', ')}.`)
}

async function prove(flags: ProveFlags, context: Context): Promise<void> {
  const { machines, items, limit: limitMs, lease: leaseMs, faults, markdown, json } = flags
  const isWatched = context.stderr.isTTY && !json
  const onProgress = (done: number) => isWatched && context.stderr.write(`\r${done} of ${items} completed `)
  const result = await runFleet({
    ...settingsOf(flags, context),
    machines,
    items,
    limitMs,
    leaseMs,
    faults,
    onProgress,
  })
  if (isWatched) context.stderr.write('\r')
  const report = reportOf(result)
  if (markdown !== undefined) writeFileSync(markdown, `${asMarkdown(report)}\n`)
  context.stdout.write(`${json ? JSON.stringify(report) : asMarkdown(report)}\n`)
  if (report.violations.length > 0) process.exitCode = exitCodes.failed
  if (!json)
    context.stderr.write(`${report.violations.length === 0 ? pc.green(report.verdict) : pc.red(report.verdict)}\n`)
}
