'use client'

import { Checkbox } from '@base-ui/react/checkbox'
import { Meter } from '@base-ui/react/meter'
import { Progress } from '@base-ui/react/progress'
import { createColumnHelper, rowSelectionFeature, tableFeatures } from '@tanstack/react-table'
import Link from 'next/link'
import type { z } from 'zod'
import { duration, since } from '@/app/(dashboard)/format'
import { dots } from '@/app/(dashboard)/look'
import { StoredText } from '@/app/(dashboard)/stored-text'
import type { workListResponse } from '@/lib/protocol/work'

export type ListedWork = z.output<typeof workListResponse>['items'][number]

export const features = tableFeatures({ rowSelectionFeature })
const helper = createColumnHelper<typeof features, ListedWork>()

const box =
  'flex size-5 cursor-pointer items-center justify-center rounded border border-idle bg-canvas data-checked:bg-accent data-checked:text-on-accent'

/** A checkbox that looks as the others do. */
export function Tick(props: { label: string; checked: boolean; onCheckedChange: (checked: boolean) => void }) {
  return (
    <Checkbox.Root
      className={box}
      aria-label={props.label}
      checked={props.checked}
      onCheckedChange={props.onCheckedChange}
    >
      <Checkbox.Indicator>✓</Checkbox.Indicator>
    </Checkbox.Root>
  )
}

const selection = helper.display({
  id: 'selection',
  header: ({ table }) => (
    <Tick
      label="Select all on this page"
      checked={table.getIsAllRowsSelected()}
      onCheckedChange={(checked) => table.toggleAllRowsSelected(checked)}
    />
  ),
  cell: ({ row }) => (
    <Tick
      label={`Select ${row.original.queueId}`}
      checked={row.getIsSelected()}
      onCheckedChange={(checked) => row.toggleSelected(checked)}
    />
  ),
})

const shown = [
  helper.display({ id: 'work', header: 'Work', cell: ({ row }) => <What work={row.original} /> }),
  helper.display({
    id: 'state',
    header: 'State',
    cell: ({ row: { original } }) => (
      <span className="flex items-center gap-2">
        <span className={`size-2 rounded-full ${dots[original.state]}`} aria-hidden="true" />
        {original.state}
      </span>
    ),
  }),
  helper.accessor('orchestratorId', {
    header: 'Orchestrator',
    cell: ({ getValue }) => <StoredText text={getValue()} />,
  }),
  helper.accessor('claimedBy', {
    header: 'Machine',
    cell: ({ getValue }) => {
      const machine = getValue()
      return machine === null ? <None /> : <StoredText text={machine} />
    },
  }),
  helper.display({
    id: 'attempts',
    header: 'Attempts',
    cell: ({ row: { original } }) => (
      <span className="tabular-nums">{`${original.attempts} of ${original.maxAttempts}`}</span>
    ),
  }),
  helper.accessor('createdAt', {
    header: 'Age',
    cell: ({ getValue }) => (
      <time dateTime={getValue()} title={getValue()} className="tabular-nums" suppressHydrationWarning>
        {since(getValue())}
      </time>
    ),
  }),
  helper.display({ id: 'now', header: 'What happens', cell: ({ row }) => <Now work={row.original} /> }),
]

/** The columns of the list of work; without those for acting where a person cannot. */
export const columnsFor = (canAct: boolean) => helper.columns(canAct ? [selection, ...shown] : shown)

function What({ work: { queueId, dedupeKey, payloadExcerpt } }: { work: ListedWork }) {
  return (
    <Link href={`/work/${queueId}`} data-row-link data-queue-id={queueId} className="block rounded hover:underline">
      <span className="flex flex-wrap gap-x-2">
        <span className="font-semibold tabular-nums">#{queueId}</span>
        {dedupeKey !== null && <StoredText text={dedupeKey} className="text-muted" />}
      </span>
      {payloadExcerpt !== null && (
        <StoredText text={payloadExcerpt} className="line-clamp-2 font-mono text-[13px] text-muted" />
      )}
    </Link>
  )
}

function Now({ work }: { work: ListedWork }) {
  if (work.state === 'claimed' || work.state === 'stale') return <Running work={work} />
  if (work.lastError !== null) return <StoredText text={work.lastError} className="line-clamp-2 text-sm text-failed" />
  if (work.finishedAt !== null) return <span suppressHydrationWarning>{`${since(work.finishedAt)} ago`}</span>
  if (work.state === 'scheduled')
    return <span suppressHydrationWarning>{`due in ${duration(Date.parse(work.availableAt) - Date.now())}`}</span>
  return <span className="text-muted">waits</span>
}

function Running({ work: { claimedAt, claimExpiresAt, progress, progressNote } }: { work: ListedWork }) {
  const left = claimExpiresAt === null ? 0 : Date.parse(claimExpiresAt) - Date.now()
  const lease = claimExpiresAt === null || claimedAt === null ? 1 : Date.parse(claimExpiresAt) - Date.parse(claimedAt)
  const leftText = left < 0 ? `lease over for ${duration(-left)}` : `${duration(left)} of lease left`
  return (
    <div className="grid gap-1 text-sm">
      <Meter.Root
        value={Math.max(0, left)}
        max={Math.max(1, lease, left)}
        aria-label="Lease left"
        aria-valuetext={leftText}
        className="grid gap-1"
      >
        <span className={left < 0 ? 'text-stale' : 'text-muted'} suppressHydrationWarning>
          {leftText}
        </span>
        <Meter.Track className="h-1.5 overflow-hidden rounded bg-sunken">
          <Meter.Indicator className="h-full bg-queued" />
        </Meter.Track>
      </Meter.Root>
      {progress !== null && (
        <Progress.Root value={progress} aria-label="Progress" className="flex items-center gap-2">
          <Progress.Track className="h-1.5 flex-1 overflow-hidden rounded bg-sunken">
            <Progress.Indicator className="h-full bg-claimed" />
          </Progress.Track>
          <span className="tabular-nums">{progress} %</span>
        </Progress.Root>
      )}
      {progressNote !== null && <StoredText text={progressNote} className="line-clamp-2 text-muted" />}
    </div>
  )
}

const None = () => <span className="text-muted">none</span>
