import type { Command } from 'commander'
import { Option } from 'commander'
import { type ConnectionFlags, type Context, clientOf, connectedCommand, whole } from '@/lib/cli/program'
import { coloured, since, stored, table } from '@/lib/cli/table'
import type { DispatchClient } from '@/lib/client/dispatch-client'
import { workState } from '@/lib/protocol/work'

interface ListFlags extends ConnectionFlags {
  orchestrator?: string
  state?: (typeof workState.options)[number]
  machine?: string
  search?: string
  limit: number
  all?: boolean
}

type Page = Awaited<ReturnType<DispatchClient['listWork']>>
const PAGE = 100

/** `dispatch ls`: live work and history, newest first. */
export function listCommand(context: Context): Command {
  return connectedCommand('ls', 'list work, newest first', [
    'ls --state failed',
    'ls --orchestrator acme --machine laptop',
    'ls --search ENG-142 --json',
  ])
    .option('--orchestrator <id>', 'of this orchestrator alone')
    .addOption(new Option('--state <state>', 'in this state alone').choices(workState.options))
    .option('--machine <id>', 'whose last holder is this machine')
    .option('--search <text>', 'an id, the beginning of a dedupe key, or a part of the payload')
    .option('--limit <n>', 'how many', whole(1, 1_000_000), 20)
    .option('--all', 'all of them, page by page')
    .action(async (flags: ListFlags) => {
      const items: Page['items'] = []
      for await (const page of pagesOf(clientOf(flags, context), flags)) {
        if (flags.json) for (const item of page) context.stdout.write(`${JSON.stringify(item)}\n`)
        else items.push(...page)
      }
      if (!flags.json) context.stdout.write(items.length === 0 ? 'No work matches.\n' : `${workTable(items)}\n`)
    })
}

async function* pagesOf(client: DispatchClient, flags: ListFlags): AsyncGenerator<Page['items']> {
  let left = flags.all ? Number.POSITIVE_INFINITY : flags.limit
  let cursor: string | null | undefined
  while (left > 0 && cursor !== null) {
    const page: Page = await client.listWork({
      orchestratorId: flags.orchestrator,
      state: flags.state,
      machineId: flags.machine,
      q: flags.search,
      cursor,
      limit: Math.min(left, PAGE),
    })
    yield page.items
    left -= page.items.length
    cursor = page.nextCursor
  }
}

/** Pieces of work as a table. */
export function workTable(items: Page['items']): string {
  return table(
    ['id', 'state', 'orchestrator', 'machine', 'attempt', 'progress', 'enqueued', 'lease ends', 'error'],
    items.map((item) => [
      `${item.queueId}`,
      coloured(item.state),
      stored(item.orchestratorId),
      stored(item.claimedBy ?? '–'),
      `${item.attempts} of ${item.maxAttempts}`,
      item.progress === null ? '–' : `${item.progress} %`,
      since(item.createdAt),
      since(item.claimExpiresAt),
      stored((item.lastError ?? '').split('\n')[0] ?? '').slice(0, 60),
    ]),
  )
}
