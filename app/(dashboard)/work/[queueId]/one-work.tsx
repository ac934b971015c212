'use client'

import Link from 'next/link'
import type { ReactNode } from 'react'
import type { z } from 'zod'
import { Updated, useLive } from '@/app/(dashboard)/live'
import { card, dots } from '@/app/(dashboard)/look'
import { StoredText } from '@/app/(dashboard)/stored-text'
import { JsonView } from '@/app/(dashboard)/work/[queueId]/json-view'
import { Timeline } from '@/app/(dashboard)/work/[queueId]/timeline'
import { ActionBar } from '@/app/(dashboard)/work/actions'
import type { workResponse } from '@/lib/protocol/work'

export type WholeWork = z.output<typeof workResponse>

/** One piece of work with all that is known of it. */
export function OneWork({ queueId, initial, canAct }: { queueId: number; initial: WholeWork; canAct: boolean }) {
  const path = `/api/work/${queueId}`
  const query = useLive<WholeWork>(path, { path, answer: initial })
  const work = query.data ?? initial
  return (
    <main className="grid gap-5">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <h1 className="flex items-baseline gap-3 text-xl font-semibold tracking-tight">
          <span>Work {queueId}</span>
          {work.dedupeKey !== null && <StoredText text={work.dedupeKey} className="text-base font-normal text-muted" />}
        </h1>
        <span className="mr-auto flex items-center gap-2">
          <span className={`size-2.5 rounded-full ${dots[work.state]}`} aria-hidden="true" />
          {work.state}
        </span>
        <Updated query={query} />
      </div>
      <section aria-labelledby="why" className={`${card} px-5 py-4`}>
        <h2 id="why" className="text-sm text-muted">
          {work.state === 'queued' || work.state === 'scheduled'
            ? 'Why has nobody claimed this?'
            : 'What happens to it'}
        </h2>
        <p className="mt-1 text-lg">
          <StoredText text={work.explanation} />
        </p>
        {canAct && (
          <div className="mt-3">
            <ActionBar
              chosen={{ items: [{ queueId, attempts: work.attempts, claimedBy: work.claimedBy, state: work.state }] }}
              onDone={() => {}}
            />
          </div>
        )}
      </section>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <JsonView title="Payload" value={work.payload} />
        <div className="grid gap-5">
          <Facts work={work} />
          <Timeline work={work} />
        </div>
        {work.state === 'completed' && <JsonView title="Result" value={work.result} />}
      </div>
    </main>
  )
}

function Facts({ work }: { work: WholeWork }) {
  const facts: [string, ReactNode][] = [
    ['Orchestrator', <StoredText key="o" text={work.orchestratorId} />],
    [
      'Machine',
      work.claimedBy === null ? (
        'none'
      ) : (
        <Link key="m" className="underline" href={`/work?machine=${encodeURIComponent(work.claimedBy)}`}>
          <StoredText text={work.claimedBy} />
        </Link>
      ),
    ],
    ['Attempts', `${work.attempts} of ${work.maxAttempts}`],
    ['Priority', work.priority],
    ['Enqueued', work.createdAt],
    ['Due', work.availableAt],
    ['Lease ends', work.claimExpiresAt ?? 'none'],
    ['Progress', work.progress === null ? 'none' : `${work.progress} %`],
    ...(work.progressNote === null
      ? []
      : [['Note', <StoredText key="n" text={work.progressNote} />] satisfies [string, ReactNode]]),
    ...(work.finishedAt === null ? [] : [['Finished', work.finishedAt] satisfies [string, ReactNode]]),
    ...(work.lastError === null
      ? []
      : [
          ['Last error', <StoredText key="e" text={work.lastError} className="text-failed" />] satisfies [
            string,
            ReactNode,
          ],
        ]),
  ]
  return (
    <section aria-labelledby="facts" className={`${card} px-5 py-4`}>
      <h2 id="facts" className="font-semibold">
        Facts
      </h2>
      <dl className="mt-2 grid grid-cols-[auto_1fr] gap-x-5 gap-y-1.5 text-sm">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
