import type { ReactNode } from 'react'
import { duration } from '@/app/(dashboard)/duration'
import { StoredText } from '@/app/(dashboard)/stored-text'
import type { LiveWork } from '@/lib/queue/list-live-work'

export interface Column {
  heading: string
  /** Its share where the list is a table. */
  width?: string
  /** On a card it takes the whole line. */
  isWide?: boolean
  cell: (work: LiveWork) => ReactNode
}

const number = new Intl.NumberFormat('en-US')

const work: Column = { heading: 'Work', cell: (item) => <What work={item} /> }
const orchestrator: Column = {
  heading: 'Orchestrator',
  width: 'lg:w-[15%]',
  cell: ({ orchestratorId }) => <StoredText text={orchestratorId} />,
}
const machine = (heading: string): Column => ({
  heading,
  width: 'lg:w-[15%]',
  cell: ({ claimedBy }) => (claimedBy === null ? <None /> : <StoredText text={claimedBy} />),
})
const attempts = (heading: string): Column => ({
  heading,
  width: 'lg:w-[9%]',
  cell: (item) => <Figure>{`${item.attempts} of ${item.maxAttempts}`}</Figure>,
})
const age: Column = {
  heading: 'Age',
  width: 'lg:w-[9%]',
  cell: ({ ageMs }) => <Figure>{duration(ageMs)}</Figure>,
}
const progress: Column = {
  heading: 'Progress',
  width: 'lg:w-[19%]',
  isWide: true,
  cell: (item) => <Progress work={item} />,
}

export const queuedColumns = [work, orchestrator, machine('Last machine'), attempts('Attempts'), age]
export const claimedColumns = [
  work,
  orchestrator,
  machine('Machine'),
  attempts('Attempt'),
  age,
  {
    heading: 'Lease left',
    width: 'lg:w-[9%]',
    cell: ({ leaseLeftMs }) => <Figure>{duration(leaseLeftMs ?? 0)}</Figure>,
  },
  progress,
] satisfies Column[]
export const staleColumns = [
  work,
  orchestrator,
  machine('Machine'),
  attempts('Attempt'),
  age,
  {
    heading: 'Lease over for',
    width: 'lg:w-[9%]',
    cell: ({ leaseLeftMs }) => <span className="text-stale tabular-nums">{duration(-(leaseLeftMs ?? 0))}</span>,
  },
  progress,
] satisfies Column[]

function What({ work: { queueId, dedupeKey, payloadExcerpt, payloadBytes } }: { work: LiveWork }) {
  return (
    <>
      <span className="flex flex-wrap gap-x-2">
        <span className="font-semibold tabular-nums">#{queueId}</span>
        {dedupeKey !== null && <StoredText text={dedupeKey} className="text-muted" />}
      </span>
      {payloadExcerpt === null ? (
        <span className="text-sm text-muted">a payload of {number.format(payloadBytes)} bytes</span>
      ) : (
        <StoredText text={payloadExcerpt} className="line-clamp-2 font-mono text-[13px] text-muted" />
      )}
    </>
  )
}

function Progress({ work: { progress: percent, progressNote } }: { work: LiveWork }) {
  if (percent === null && progressNote === null) return <None />
  return (
    <>
      {percent !== null && (
        <span className="flex items-center gap-2.5">
          <progress value={percent} max={100} aria-label="Progress" className="progress-bar w-full min-w-0 flex-1" />
          <span className="text-sm tabular-nums">{percent} %</span>
        </span>
      )}
      {progressNote !== null && <StoredText text={progressNote} className="line-clamp-2 text-sm text-muted" />}
    </>
  )
}

const Figure = ({ children }: { children: string }) => <span className="tabular-nums">{children}</span>

const None = () => <span className="text-muted">none</span>
