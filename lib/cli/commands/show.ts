import type { Command } from 'commander'
import { type ConnectionFlags, type Context, clientOf, connectedCommand, queueIdOf } from '@/lib/cli/program'
import { coloured, stored, table } from '@/lib/cli/table'
import type { DispatchClient } from '@/lib/client/dispatch-client'

type Work = Awaited<ReturnType<DispatchClient['showWork']>>

/** `dispatch show`: one piece of work with its payload, its attempts, and why nobody has claimed it. */
export function showCommand(context: Context): Command {
  return connectedCommand('show', 'show one piece of work, and why nobody has claimed it', [
    'show 142',
    'show 142 --json',
  ])
    .argument('<id>', 'the id, as ls shows it')
    .action(async (id: string, flags: ConnectionFlags) => {
      const work = await clientOf(flags, context).showWork(queueIdOf(id))
      context.stdout.write(flags.json ? `${JSON.stringify(work)}\n` : described(work))
    })
}

function described(work: Work): string {
  const facts: [string, string | null][] = [
    ['state', coloured(work.state)],
    ['orchestrator', stored(work.orchestratorId)],
    ['priority', `${work.priority}`],
    ['attempts', `${work.attempts} of ${work.maxAttempts}`],
    ['machine', work.claimedBy && stored(work.claimedBy)],
    ['dedupe key', work.dedupeKey && stored(work.dedupeKey)],
    ['enqueued', work.createdAt],
    ['due', work.availableAt],
    ['claimed', work.claimedAt],
    ['lease ends', work.claimExpiresAt],
    ['finished', work.finishedAt],
    ['progress', work.progress === null ? null : `${work.progress} %`],
    ['note', work.progressNote && stored(work.progressNote)],
    ['last error', work.lastError && stored(work.lastError)],
  ]
  const parts = [
    `Work ${work.queueId}: ${stored(work.explanation)}`,
    facts.flatMap(([name, value]) => (value === null ? [] : [`  ${name.padEnd(13)} ${value}`])).join('\n'),
    `Payload\n${json(work.payload)}`,
    ...(work.result === null || work.result === undefined ? [] : [`Result\n${json(work.result)}`]),
    ...(work.attemptLog.length === 0 ? [] : [`Attempts\n${attempts(work)}`]),
  ]
  return `${parts.join('\n\n')}\n`
}

const json = (value: unknown) =>
  (JSON.stringify(value, null, 2) ?? 'null')
    .split('\n')
    .map((line) => `  ${stored(line)}`)
    .join('\n')

const attempts = ({ attemptLog }: Work) =>
  table(
    ['attempt', 'machine', 'claimed', 'ended', 'how', 'error'],
    attemptLog.map((entry) => [
      `${entry.attempt}`,
      stored(entry.machine ?? '–'),
      entry.claimedAt ?? '–',
      entry.endedAt,
      entry.how,
      stored((entry.error ?? '').split('\n')[0] ?? '').slice(0, 80),
    ]),
  )
