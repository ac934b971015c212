import type { StateCounts } from '@/lib/queue/count-by-state'
import type { WorkState } from '@/lib/queue/state'

const number = new Intl.NumberFormat('en-US')

const dots: Record<WorkState, string> = {
  queued: 'bg-queued',
  scheduled: 'bg-scheduled',
  claimed: 'bg-claimed',
  stale: 'bg-stale',
  completed: 'bg-claimed',
  failed: 'bg-failed',
  cancelled: 'bg-idle',
}

/** How much work is in each state; what is wrong stands out. */
export function Counts({ counts }: { counts: StateCounts }) {
  return (
    <section aria-label="Counts" className="grid gap-4 lg:grid-cols-[1fr_auto]">
      <Group title="Now" className="grid-cols-2 sm:grid-cols-4">
        <Count state="queued" value={counts.queued} />
        <Count state="scheduled" value={counts.scheduled} />
        <Count state="claimed" value={counts.claimed} />
        <Count state="stale" value={counts.stale} alarming="bg-stale-wash text-stale" />
      </Group>
      <Group title="Finished in the last hour" className="grid-cols-3">
        <Count state="completed" value={counts.completed} />
        <Count state="failed" value={counts.failed} alarming="bg-failed-wash text-failed" />
        <Count state="cancelled" value={counts.cancelled} />
      </Group>
    </section>
  )
}

function Group({ title, className, children }: { title: string; className: string; children: React.ReactNode }) {
  return (
    <div>
      <h2 className="mb-2 text-sm text-muted">{title}</h2>
      <dl className={`grid gap-px overflow-hidden rounded-xl border border-line bg-line ${className}`}>{children}</dl>
    </div>
  )
}

function Count({ state, value, alarming = '' }: { state: WorkState; value: number; alarming?: string }) {
  return (
    <div
      className={`flex flex-col-reverse justify-end gap-0.5 px-4 py-3 lg:px-5 lg:py-4 ${value > 0 && alarming ? alarming : 'bg-surface'}`}
    >
      <dt className="flex items-center gap-2 text-sm">
        <span className={`size-2 rounded-full ${dots[state]}`} aria-hidden="true" />
        {state}
      </dt>
      <dd
        data-state={state}
        className={`text-3xl font-semibold tracking-tight tabular-nums ${value === 0 ? 'text-muted' : ''}`}
      >
        {number.format(value)}
      </dd>
    </div>
  )
}
