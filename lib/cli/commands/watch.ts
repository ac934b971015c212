import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { createLogUpdate } from 'log-update'
import { workTable } from '@/lib/cli/commands/list'
import { type ConnectionFlags, type Context, clientOf, connectedCommand, durationOption } from '@/lib/cli/program'
import { DispatchError } from '@/lib/client/dispatch-error'

interface WatchFlags extends ConnectionFlags {
  orchestrator?: string
  interval: number
}

const ROWS = 30

/** `dispatch watch`: the newest work, looked at again and again until it is interrupted. */
export function watchCommand(context: Context): Command {
  return connectedCommand('watch', 'watch the newest work until you press Ctrl-C', [
    'watch --orchestrator acme',
    'watch --json',
  ])
    .option('--orchestrator <id>', 'of this orchestrator alone')
    .addOption(durationOption('--interval <duration>', 'how often to look', [500, 3_600_000], '2s'))
    .action((flags: WatchFlags) => watch(flags, context))
}

async function watch(flags: WatchFlags, context: Context): Promise<void> {
  const client = clientOf(flags, context)
  const { stdout } = context
  const isLive = stdout.isTTY && !flags.json
  const live = createLogUpdate(stdout)
  for (;;) {
    try {
      const { items } = await client.listWork({ orchestratorId: flags.orchestrator, limit: ROWS })
      const text = flags.json ? JSON.stringify({ at: new Date().toISOString(), items }) : workTable(items)
      if (isLive) live(`${text}\n\nas of ${new Date().toLocaleTimeString()}`)
      else stdout.write(`${text}\n`)
    } catch (error) {
      // What was seen last stays; the server may be back at the next look.
      if (!(error instanceof DispatchError) || !error.isTransient) throw error
      context.stderr.write(`${error.message}\n`)
    }
    await sleep(flags.interval)
  }
}
