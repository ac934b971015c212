'use client'

import { createColumnHelper } from '@tanstack/react-table'
import Link from 'next/link'
import { parseAsString, useQueryState } from 'nuqs'
import type { z } from 'zod'
import { capped, duration } from '@/app/(dashboard)/format'
import { Updated, useLive } from '@/app/(dashboard)/live'
import { OrchestratorField } from '@/app/(dashboard)/orchestrator-field'
import { pathWith } from '@/app/(dashboard)/request'
import { type plain, SimpleTable } from '@/app/(dashboard)/simple-table'
import { StoredText } from '@/app/(dashboard)/stored-text'
import type { machinesResponse } from '@/lib/protocol/overview'

type Answer = z.output<typeof machinesResponse>
type Machine = Answer['machines'][number]

const ONLINE_MS = 90_000
const AWAY_MS = 15 * 60_000

/** A machine is noted as seen every 30 s at most. */
function presence({ seenMs, holds }: Machine): { name: string; dot: string } {
  if (seenMs > AWAY_MS) return { name: 'away', dot: 'bg-idle' }
  if (seenMs > ONLINE_MS) return { name: 'not seen lately', dot: 'bg-stale' }
  return holds > 0 ? { name: 'online', dot: 'bg-claimed' } : { name: 'idle', dot: 'bg-queued' }
}

const helper = createColumnHelper<typeof plain, Machine>()
const columns = helper.columns([
  helper.accessor('machineId', {
    header: 'Machine',
    cell: ({ getValue }) => (
      <Link
        href={`/work?machine=${encodeURIComponent(getValue())}`}
        data-row-link
        className="rounded font-medium hover:underline"
      >
        <StoredText text={getValue()} />
      </Link>
    ),
  }),
  helper.display({
    id: 'presence',
    header: 'Is',
    cell: ({ row }) => {
      const { name, dot } = presence(row.original)
      return (
        <span className="flex items-center gap-2 whitespace-nowrap">
          <span className={`size-2 rounded-full ${dot}`} aria-hidden="true" />
          {name}
        </span>
      )
    },
  }),
  helper.accessor('orchestratorId', {
    header: 'Orchestrator',
    cell: ({ getValue }) => <StoredText text={getValue()} />,
  }),
  helper.accessor('seenMs', {
    header: 'Last seen',
    cell: ({ getValue }) => <span className="whitespace-nowrap tabular-nums">{duration(getValue())} ago</span>,
  }),
  helper.display({ id: 'holding', header: 'Holds', cell: ({ row }) => <Holding machine={row.original} /> }),
  helper.accessor('completedLastHour', {
    header: 'Completed in the last hour',
    cell: ({ getValue }) => <span className="tabular-nums">{getValue()}</span>,
  }),
  helper.accessor('version', {
    header: 'Version',
    cell: ({ getValue }) => <StoredText text={getValue() ?? 'unknown'} className="text-muted" />,
  }),
])

function Holding({ machine: { holding, holds } }: { machine: Machine }) {
  if (holds === 0) return <span className="text-muted">nothing</span>
  return (
    <span className="flex flex-wrap gap-x-2">
      {holding.map((queueId) => (
        <Link key={queueId} href={`/work/${queueId}`} className="underline tabular-nums">
          #{queueId}
        </Link>
      ))}
      {holds > holding.length && <span className="text-muted">{`of ${capped(holds, 1_000)}`}</span>}
    </span>
  )
}

/** The machines that were seen last. */
export function Machines({ initial }: { initial: Answer }) {
  const [orchestrator, setOrchestrator] = useQueryState('orchestrator', parseAsString.withDefault(''))
  const query = useLive<Answer>(pathWith('/api/machines', { orchestratorId: orchestrator }), {
    path: '/api/machines',
    answer: initial,
  })
  const machines = query.data?.machines ?? []
  return (
    <main className="grid gap-4">
      <div className="flex flex-wrap items-end gap-x-4 gap-y-2">
        <h1 className="mr-auto text-xl font-semibold tracking-tight">Machines</h1>
        <Updated query={query} />
        <OrchestratorField value={orchestrator} onChange={(value) => setOrchestrator(value, { throttleMs: 300 })} />
      </div>
      {machines.length === 0 ? (
        <p className="rounded-xl border border-dashed border-line px-4 py-6 text-muted">
          No machine has polled. Start one with the command on the page{' '}
          <Link href="/try" className="underline">
            Try it
          </Link>
          .
        </p>
      ) : (
        <SimpleTable caption="The machines that were seen last, at most 200" columns={columns} data={machines} />
      )}
    </main>
  )
}
