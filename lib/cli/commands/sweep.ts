import type { Command } from 'commander'
import { type ConnectionFlags, type Context, clientOf, connectedCommand } from '@/lib/cli/program'

/** `dispatch sweep`: recovers abandoned claims and deletes old history now. */
export function sweepCommand(context: Context): Command {
  return connectedCommand('sweep', 'recover abandoned claims and delete old history now; polls do it by themselves', [
    'sweep',
  ]).action(async (flags: ConnectionFlags) => {
    const swept = await clientOf(flags, context).sweep()
    const { released, failed, unsweepable, pruned, more } = swept
    const text = `${released} released, ${failed} failed, ${unsweepable} could not be swept, ${pruned} pruned${more ? '; there is more' : ''}`
    context.stdout.write(flags.json ? `${JSON.stringify(swept)}\n` : `${text}\n`)
  })
}
