'use client'

import { parseAsInteger, parseAsString, parseAsStringLiteral, useQueryStates } from 'nuqs'
import { dots, field, label } from '@/app/(dashboard)/look'

const states = ['queued', 'scheduled', 'claimed', 'stale', 'failed', 'completed', 'cancelled'] as const

const ages = [
  { name: 'any age', ms: null },
  { name: 'over 5 minutes', ms: 300_000 },
  { name: 'over an hour', ms: 3_600_000 },
  { name: 'over a day', ms: 86_400_000 },
]

const orders = ['newest', 'oldest'] as const

/** What the list shows, kept in the URL, so that a link shows the same. */
export function useFilters() {
  return useQueryStates(
    {
      state: parseAsStringLiteral(states),
      orchestrator: parseAsString.withDefault(''),
      machine: parseAsString.withDefault(''),
      q: parseAsString.withDefault(''),
      age: parseAsInteger,
      order: parseAsStringLiteral(orders),
      after: parseAsInteger,
    },
    { history: 'push', throttleMs: 300 },
  )
}

type Filters = ReturnType<typeof useFilters>

/** The tabs of states, and the fields that narrow the list. */
export function FilterBar({ filters: [values, set] }: { filters: Filters }) {
  const text = (name: 'orchestrator' | 'machine', title: string) => (
    <label className={label}>
      {title}
      <input
        className={field}
        value={values[name]}
        placeholder="all"
        onChange={(event) => set({ [name]: event.target.value || null, after: null })}
      />
    </label>
  )
  return (
    <div className="grid gap-3">
      <fieldset aria-label="State" className="min-w-0 flex gap-1 overflow-x-auto px-1 py-1 text-sm">
        {[null, ...states].map((state) => (
          <button
            key={state}
            type="button"
            aria-pressed={values.state === state}
            onClick={() => set({ state, after: null })}
            className={`flex cursor-pointer items-center gap-2 rounded-lg px-3 py-1.5 hover:bg-sunken ${values.state === state ? 'bg-sunken font-medium' : 'text-muted'}`}
          >
            {state !== null && <span className={`size-2 rounded-full ${dots[state]}`} aria-hidden="true" />}
            {state ?? 'all'}
          </button>
        ))}
      </fieldset>
      <search className="grid items-end grid-cols-2 gap-3 lg:grid-cols-[2fr_1fr_1fr_auto_auto]">
        <label className={`${label} col-span-2 lg:col-span-1`}>
          Id, start of a dedupe key, or text of the payload (in the newest 10,000 that match the rest)
          <input
            data-search
            type="search"
            className={field}
            value={values.q}
            onChange={(event) => set({ q: event.target.value || null, after: null })}
          />
        </label>
        {text('orchestrator', 'Orchestrator')}
        {text('machine', 'Machine')}
        <label className={label}>
          Enqueued
          <select
            className={field}
            value={values.age ?? ''}
            onChange={(event) =>
              set({ age: event.target.value === '' ? null : Number(event.target.value), after: null })
            }
          >
            {ages.map(({ name, ms }) => (
              <option key={name} value={ms ?? ''}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label className={label}>
          Order
          <select
            className={field}
            value={values.order ?? 'newest'}
            onChange={(event) => set({ order: event.target.value === 'oldest' ? 'oldest' : null, after: null })}
          >
            {orders.map((order) => (
              <option key={order} value={order}>
                {order} first
              </option>
            ))}
          </select>
        </label>
      </search>
    </div>
  )
}
