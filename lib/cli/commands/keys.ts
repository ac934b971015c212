import { Command, Option } from 'commander'
import { type ConnectionFlags, type Context, clientOf, connectedCommand } from '@/lib/cli/program'
import { since, stored, table } from '@/lib/cli/table'

const roles = ['producer', 'orchestrator', 'viewer', 'admin'] as const

interface CreateFlags extends ConnectionFlags {
  name: string
  role: (typeof roles)[number]
  orchestrator?: string
}

/** `dispatch keys`: create, list, revoke. */
export function keysCommand(context: Context): Command {
  return new Command('keys')
    .description('create, list and revoke keys')
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(revokeCommand(context))
}

function createCommand(context: Context): Command {
  return connectedCommand('create', 'make a key; it is shown this once', [
    'keys create --name "acme machines" --role orchestrator --orchestrator acme',
  ])
    .requiredOption('--name <name>', 'what people call it')
    .addOption(new Option('--role <role>', 'what it is good for').choices(roles).makeOptionMandatory())
    .option('--orchestrator <id>', 'the only orchestrator it is good for; needed for the role orchestrator')
    .action(async (flags: CreateFlags) => {
      const { name, role, orchestrator: orchestratorId } = flags
      const made = await clientOf(flags, context).createKey({ name, role, orchestratorId })
      context.stdout.write(`${flags.json ? JSON.stringify(made) : made.key}\n`)
      if (!flags.json) context.stderr.write(`This is the only time that key ${made.id} is shown.\n`)
    })
}

function listCommand(context: Context): Command {
  return connectedCommand('ls', 'list all keys, without their secrets', ['keys ls']).action(
    async (flags: ConnectionFlags) => {
      const keys = await clientOf(flags, context).listKeys()
      if (flags.json) {
        for (const key of keys) context.stdout.write(`${JSON.stringify(key)}\n`)
        return
      }
      const rows = keys.map((key) => [
        key.id,
        stored(key.name),
        key.role,
        stored(key.orchestratorId ?? 'all'),
        `${key.prefix}…`,
        since(key.createdAt),
        since(key.lastUsedAt),
        key.revokedAt === null ? '' : `revoked ${since(key.revokedAt)}`,
      ])
      const head = ['id', 'name', 'role', 'orchestrator', 'key', 'made', 'last used', '']
      context.stdout.write(keys.length === 0 ? 'There are no keys but the root key.\n' : `${table(head, rows)}\n`)
    },
  )
}

function revokeCommand(context: Context): Command {
  return connectedCommand('revoke', 'end a key for good', ['keys revoke 0b7c2f6e-8d0f-4a53-9f5e-0c6f3a1c2d4e'])
    .argument('<id>', 'the id, as keys ls shows it')
    .action(async (id: string, flags: ConnectionFlags) => {
      await clientOf(flags, context).revokeKey(id)
      context.stdout.write(
        flags.json
          ? `${JSON.stringify({ id, revoked: true })}\n`
          : `${id} is revoked; every instance knows within 30 s.\n`,
      )
    })
}
