import type { Command } from 'commander'
import { exitCodeOf } from '@/lib/cli/exit-codes'
import { type ConnectionFlags, type Context, clientOf, connectedCommand, queueIdOf } from '@/lib/cli/program'
import type { DispatchClient } from '@/lib/client/dispatch-client'
import { DispatchError } from '@/lib/client/dispatch-error'

const actions = {
  release: {
    description: 'take claimed work away from its holder, for anyone to claim',
    act: (client: DispatchClient, queueId: number) => client.releaseWork(queueId),
  },
  retry: {
    description: 'put failed or cancelled work back into the queue, with all its attempts',
    act: (client: DispatchClient, queueId: number) => client.retryWork(queueId),
  },
  cancel: {
    description: 'take live work out of the queue for good; its holder learns of it',
    act: (client: DispatchClient, queueId: number) => client.cancelWork(queueId),
  },
}

/** `dispatch release`, `retry` and `cancel`: a person's actions on pieces of work. What is refused for one does not hold back the others. */
export function actionCommands(context: Context): Command[] {
  return Object.entries(actions).map(([name, { description, act }]) =>
    connectedCommand(name, description, [`${name} 142`, `${name} 142 143 144 --json`])
      .argument('<ids...>', 'the ids, as ls shows them')
      .action(async (ids: string[], flags: ConnectionFlags) => {
        const client = clientOf(flags, context)
        for (const queueId of ids.map(queueIdOf)) await report(queueId, act(client, queueId), flags, context)
      }),
  )
}

async function report(
  queueId: number,
  action: Promise<{ outcome: string }>,
  { json }: ConnectionFlags,
  { stdout, stderr }: Context,
): Promise<void> {
  try {
    const { outcome } = await action
    stdout.write(json ? `${JSON.stringify({ queueId, outcome })}\n` : `${queueId} ${outcome}\n`)
  } catch (error) {
    if (!(error instanceof DispatchError) || (error.status !== 404 && error.status !== 409)) throw error
    process.exitCode = exitCodeOf(error)
    const refused = { queueId, refused: error.code, state: error.state }
    if (json) stdout.write(`${JSON.stringify(refused)}\n`)
    else stderr.write(`${queueId} ${error.message}\n`)
  }
}
