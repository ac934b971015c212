/** The `dispatch` command. */
import { Command, CommanderError } from 'commander'
import pc from 'picocolors'
import { actionCommands } from '@/lib/cli/commands/actions'
import { doctorCommand } from '@/lib/cli/commands/doctor'
import { enqueueCommand } from '@/lib/cli/commands/enqueue'
import { keysCommand } from '@/lib/cli/commands/keys'
import { listCommand } from '@/lib/cli/commands/list'
import { proveCommand } from '@/lib/cli/commands/prove'
import { showCommand } from '@/lib/cli/commands/show'
import { sweepCommand } from '@/lib/cli/commands/sweep'
import { watchCommand } from '@/lib/cli/commands/watch'
import { workCommand } from '@/lib/cli/commands/work'
import { exitCodeHelp, exitCodeOf } from '@/lib/cli/exit-codes'
import { type Context, version } from '@/lib/cli/program'

const settingsHelp = `
Settings: flags, then DISPATCH_URL and DISPATCH_KEY, then ~/.config/dispatch/config.json ({"url", "key"}), then a server that
was started on this machine with npm start.`

const { env, stdout, stderr, stdin } = process
await main({ env, stdout, stderr, stdin })

async function main(context: Context): Promise<void> {
  // A reader that has seen enough, such as head, is no fault.
  context.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  try {
    await program(context).parseAsync()
  } catch (error) {
    process.exitCode = exitCodeOf(error)
    // Commander has told its own already.
    if (error instanceof CommanderError) return
    context.stderr.write(`${pc.red('error')} ${error instanceof Error ? error.message : String(error)}\n`)
  }
}

function program(context: Context): Command {
  const root = new Command('dispatch')
    .description('Work with a dispatch-queue: enqueue, work, look, act.')
    .version(version)
    .addHelpText('after', `${settingsHelp}\n${exitCodeHelp}`)
  const commands = [
    workCommand(context),
    enqueueCommand(context),
    listCommand(context),
    showCommand(context),
    watchCommand(context),
    ...actionCommands(context),
    keysCommand(context),
    sweepCommand(context),
    doctorCommand(context),
    proveCommand(context),
  ]
  for (const command of commands) root.addCommand(command)
  for (const command of everyCommand(root)) command.exitOverride().showHelpAfterError('(--help shows how)')
  return root
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}
