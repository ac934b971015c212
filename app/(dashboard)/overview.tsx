'use client'

import dynamic from 'next/dynamic'
import Link from 'next/link'
import { parseAsString, parseAsStringLiteral, useQueryStates } from 'nuqs'
import type { ReactNode } from 'react'
import type { z } from 'zod'
import { capped, duration } from '@/app/(dashboard)/format'
import { Updated, useLive } from '@/app/(dashboard)/live'
import { card, dots } from '@/app/(dashboard)/look'
import { OrchestratorField } from '@/app/(dashboard)/orchestrator-field'
import { pathWith } from '@/app/(dashboard)/request'
import type { overviewResponse } from '@/lib/protocol/overview'

const Chart = dynamic(() => import('@/app/(dashboard)/chart').then((module) => module.Chart), {
  ssr: false,
  loading: () => <div className="h-56" />,
})

export type OverviewAnswer = z.output<typeof overviewResponse>

const CAP = 10_000
const spans = ['hour', 'day'] as const
/** So long a stale row waits for a sweep at most, as long as anybody polls. */
const UNSWEPT_MS = 120_000

/** How the queue is now, and how the last hour or day was. */
export function Overview({ initial }: { initial: OverviewAnswer }) {
  const [{ orchestrator, span }, set] = useQueryStates({
    orchestrator: parseAsString.withDefault(''),
    span: parseAsStringLiteral(spans).withDefault('hour'),
  })
  const path = pathWith('/api/overview', { orchestratorId: orchestrator, span })
  const query = useLive(path, { path: '/api/overview?span=hour', answer: initial })
  const { data } = query
  return (
    <main className="grid gap-6">
      <div className="flex flex-wrap items-end gap-x-4 gap-y-2">
        <h1 className="mr-auto text-xl font-semibold tracking-tight">Overview</h1>
        <Updated query={query} />
        <OrchestratorField
          value={orchestrator}
          onChange={(value) => set({ orchestrator: value }, { throttleMs: 300 })}
        />
      </div>
      {data !== undefined && (
        <>
          <Alarms data={data} />
          <Counts data={data} orchestrator={orchestrator} />
          <section aria-labelledby="throughput" className={`${card} p-5`}>
            <div className="mb-3 flex flex-wrap items-baseline gap-x-4">
              <h2 id="throughput" className="font-semibold">
                Finished per minute
              </h2>
              <p className="text-sm text-muted">
                {data.isPartial && 'of the newest 25,000 finished · '}
                {span === 'hour' ? 'the last hour' : 'the last day, means of a quarter of an hour'}
              </p>
              <div className="ml-auto flex gap-1 text-sm">
                {spans.map((name) => (
                  <button
                    key={name}
                    type="button"
                    aria-pressed={span === name}
                    onClick={() => set({ span: name })}
                    className={`cursor-pointer rounded-lg px-3 py-1 ${span === name ? 'bg-sunken font-medium' : 'text-muted hover:bg-sunken'}`}
                  >
                    {name}
                  </button>
                ))}
              </div>
            </div>
            <Chart series={data.series} span={span} at={data.at} />
          </section>
          <Times data={data} />
        </>
      )}
    </main>
  )
}

function Alarms({ data }: { data: OverviewAnswer }) {
  const alarms: ReactNode[] = []
  if (data.staleForMs !== null && data.staleForMs > UNSWEPT_MS)
    alarms.push(
      <>
        <Link href="/work?state=stale" className="underline">
          {capped(data.stale, CAP)} stale
        </Link>
        {`: the longest since ${duration(data.staleForMs)}, and nobody sweeps. A poll or the daily cron does; is anybody polling?`}
      </>,
    )
  for (const { orchestratorId, machineSeenMs } of data.unattended)
    alarms.push(
      `Work of ${orchestratorId} waits, and ${machineSeenMs === null ? 'none of its machines has ever polled' : `its last machine polled ${duration(machineSeenMs)} ago`}.`,
    )
  const rising = risingFailures(data)
  if (rising !== undefined) alarms.push(rising)
  if (alarms.length === 0) return null
  return (
    <section
      aria-label="What needs a person"
      role="alert"
      className="grid gap-1 rounded-xl border border-stale bg-stale-wash px-5 py-4 text-stale"
    >
      {alarms.map((alarm, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list is written anew each time.
        <p key={n}>{alarm}</p>
      ))}
    </section>
  )
}

const RECENT_SECONDS = 600
const MIN_FAILURES = 5

/** Failures of the last ten minutes against those before: twice the share, and more than a few. */
function risingFailures({ series, at }: OverviewAnswer): string | undefined {
  const from = Date.parse(at) / 1_000 - RECENT_SECONDS
  const share = (rows: OverviewAnswer['series']) => {
    const failed = rows.reduce((sum, [, , count]) => sum + count, 0)
    const all = failed + rows.reduce((sum, [, count]) => sum + count, 0)
    return { failed, share: all === 0 ? 0 : failed / all }
  }
  const now = share(series.filter(([start]) => start >= from))
  const before = share(series.filter(([start]) => start < from))
  if (now.failed < MIN_FAILURES || now.share < 2 * before.share || now.share < 0.05) return undefined
  return `${Math.round(now.share * 100)} % of what finished in the last ten minutes failed, after ${Math.round(before.share * 100)} % before.`
}

function Counts({ data, orchestrator }: { data: OverviewAnswer; orchestrator: string }) {
  const now = ['queued', 'scheduled', 'claimed', 'stale'] as const
  const done = { completed: data.completedLastHour, failed: data.failedLastHour, cancelled: data.cancelledLastHour }
  return (
    <section aria-label="Counts" className="grid gap-4 lg:grid-cols-[4fr_3fr]">
      <Group
        title={`Now${data.oldestQueuedMs === null ? '' : ` · the oldest queued waits for ${duration(data.oldestQueuedMs)}`}`}
        className="grid-cols-2 sm:grid-cols-4"
      >
        {now.map((state) => (
          <Count key={state} state={state} value={data[state]} orchestrator={orchestrator} />
        ))}
      </Group>
      <Group title="Finished in the last hour" className="grid-cols-3">
        {Object.entries(done).map(([state, value]) => (
          <Count key={state} state={state} value={value} orchestrator={orchestrator} />
        ))}
      </Group>
    </section>
  )
}

function Group({ title, className, children }: { title: string; className: string; children: ReactNode }) {
  return (
    <div>
      <h2 className="mb-2 text-sm text-muted">{title}</h2>
      <ul className={`grid gap-px overflow-hidden rounded-xl border border-line bg-line ${className}`}>{children}</ul>
    </div>
  )
}

const alarming: Record<string, string> = { stale: 'bg-stale-wash text-stale', failed: 'bg-failed-wash text-failed' }

function Count({ state, value, orchestrator }: { state: string; value: number; orchestrator: string }) {
  return (
    <li className={value > 0 ? (alarming[state] ?? 'bg-surface') : 'bg-surface'}>
      <Link
        href={pathWith('/work', { state, orchestrator })}
        className="grid gap-0.5 px-4 py-3 hover:underline lg:px-5 lg:py-4"
      >
        <span
          data-state={state}
          className={`text-3xl font-semibold tracking-tight tabular-nums ${value === 0 ? 'text-muted' : ''}`}
        >
          {capped(value, CAP)}
        </span>
        <span className="flex items-center gap-2 text-sm">
          <span className={`size-2 rounded-full ${dots[state]}`} aria-hidden="true" />
          {state}
        </span>
      </Link>
    </li>
  )
}

function Times({ data: { timeToClaimMs, runTimeMs } }: { data: OverviewAnswer }) {
  const figures = [
    ['Time to claim', timeToClaimMs],
    ['Run time', runTimeMs],
  ] as const
  return (
    <section aria-label="Times of the newest completed work" className="grid gap-4 sm:grid-cols-2">
      {figures.map(([name, quantiles]) => (
        <div key={name} className={`${card} px-5 py-4`}>
          <h2 className="text-sm text-muted">{name}, of the newest 2,000 completed</h2>
          <p className="mt-1 text-lg tabular-nums">
            {quantiles === null ? (
              <span className="text-muted">nothing was completed</span>
            ) : (
              `p50 ${duration(quantiles[0])} · p95 ${duration(quantiles[1])}`
            )}
          </p>
        </div>
      ))}
    </section>
  )
}
