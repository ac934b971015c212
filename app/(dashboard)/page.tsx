import { claimedColumns, queuedColumns, staleColumns } from '@/app/(dashboard)/columns'
import { Counts } from '@/app/(dashboard)/counts'
import { EmptyQueue } from '@/app/(dashboard)/empty-queue'
import { WorkList } from '@/app/(dashboard)/work-list'
import { Brand } from '@/app/brand'
import { getDb } from '@/lib/db/client'
import { requireSession } from '@/lib/http/session'
import { countByState, type StateCounts } from '@/lib/queue/count-by-state'
import { listLiveWork } from '@/lib/queue/list-live-work'

export const dynamic = 'force-dynamic'

const LISTED = 50

export default async function DashboardPage() {
  await requireSession()
  const db = getDb()
  const [counts, work] = await Promise.all([countByState(db), listLiveWork(db, { limit: LISTED })])
  return (
    <div className="mx-auto max-w-7xl px-4 pb-16 sm:px-6">
      <Header />
      <main className="grid gap-8">
        <h1 className="sr-only">The queue</h1>
        <Counts counts={counts} />
        {isEmpty(counts) ? <EmptyQueue /> : <Lists counts={counts} work={work} />}
      </main>
    </div>
  )
}

function Header() {
  return (
    <header className="flex items-center gap-2 py-4 text-sm">
      <span className="mr-auto text-base">
        <Brand />
      </span>
      <a href="/" className="rounded-lg border border-line bg-surface px-3 py-2 hover:bg-sunken">
        Reload
      </a>
      <form action="/sign-out" method="post">
        <button type="submit" className="cursor-pointer rounded-lg px-3 py-2 text-muted hover:bg-sunken hover:text-ink">
          Sign out
        </button>
      </form>
    </header>
  )
}

const isEmpty = (counts: StateCounts) => counts.queued + counts.scheduled + counts.claimed + counts.stale === 0

function Lists({ counts, work }: { counts: StateCounts; work: Awaited<ReturnType<typeof listLiveWork>> }) {
  const stale = (
    <WorkList
      title="Stale"
      description="lease over, not yet swept; longest first"
      work={work.stale}
      total={counts.stale}
      columns={staleColumns}
      whenEmpty="No claim was left behind."
    />
  )
  return (
    <>
      {counts.stale > 0 && stale}
      <WorkList
        title="Claimed"
        description="being worked on; claimed last first"
        work={work.claimed}
        total={counts.claimed}
        columns={claimedColumns}
        whenEmpty="No machine is at work."
      />
      <WorkList
        title="Queued"
        description="waiting for a machine; newest first"
        work={work.queued}
        total={counts.queued}
        columns={queuedColumns}
        whenEmpty="Nothing waits."
      />
      {counts.stale === 0 && stale}
    </>
  )
}
