'use client'

import type { RowSelectionState } from '@tanstack/react-table'
import { useState } from 'react'
import { Updated, useLive } from '@/app/(dashboard)/live'
import { button } from '@/app/(dashboard)/look'
import { pathWith } from '@/app/(dashboard)/request'
import { ActionBar, type WorkPageAnswer } from '@/app/(dashboard)/work/actions'
import { Tick } from '@/app/(dashboard)/work/columns'
import { FilterBar, useFilters } from '@/app/(dashboard)/work/filters'
import { WorkTable } from '@/app/(dashboard)/work/table'

const PAGE = 50
const BATCH = 100

/** The lists of work, narrowed by what the URL says. */
export function WorkPage({ canAct }: { canAct: boolean }) {
  const filters = useFilters()
  const [{ state, orchestrator, machine, q, age, order, after }, set] = filters
  const matching = (limit: number) =>
    pathWith('/api/work', { limit, state, orchestratorId: orchestrator, machineId: machine, q, minAgeMs: age, order })
  const query = useLive<WorkPageAnswer>(matching(PAGE) + (after === null ? '' : `&cursor=${after}`))
  const [selected, setSelected] = useState<RowSelectionState>({})
  const [isAll, setAll] = useState(false)
  const { data } = query
  const items = data?.items ?? []
  const chosen = items.filter(({ queueId }) => selected[queueId])
  const clear = () => {
    setSelected({})
    setAll(false)
  }
  return (
    <main className="grid gap-4">
      <div className="flex flex-wrap items-baseline gap-x-4">
        <h1 className="mr-auto text-xl font-semibold tracking-tight">Work</h1>
        <Updated query={query} />
      </div>
      <FilterBar filters={filters} />
      {canAct && (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2 text-sm">
          <ActionBar chosen={{ items: chosen, matching: isAll ? matching(BATCH) : undefined }} onDone={clear} />
          <span className="flex items-center gap-2">
            <Tick label="All that match the filters" checked={isAll} onCheckedChange={setAll} />
            <span aria-hidden="true">all that match</span>
          </span>
          <span role="status" className="text-muted">
            {isAll ? 'everything that matches is chosen' : `${chosen.length} selected`}
          </span>
        </div>
      )}
      {data === undefined && query.error === null && <p className="text-muted">Loading…</p>}
      {data !== undefined && <Found data={data} canAct={canAct} selected={selected} onSelect={setSelected} />}
      <div className="flex gap-2">
        {after !== null && (
          <button type="button" className={button} onClick={() => set({ after: null })}>
            To the beginning
          </button>
        )}
        {data?.nextCursor && (
          <button type="button" className={button} onClick={() => set({ after: Number(data.nextCursor) })}>
            {items.length === 0 ? 'Look further' : 'Next page'}
          </button>
        )}
      </div>
    </main>
  )
}

interface FoundProps {
  data: WorkPageAnswer
  canAct: boolean
  selected: RowSelectionState
  onSelect: (selected: RowSelectionState) => void
}

function Found({ data: { items, nextCursor }, ...rest }: FoundProps) {
  if (items.length > 0) return <WorkTable items={items} {...rest} />
  return (
    <p className="rounded-xl border border-dashed border-line px-4 py-6 text-muted">
      {nextCursor === null
        ? 'No work matches.'
        : 'None of the first 50,000 rows matches. There are more: look further.'}
    </p>
  )
}
