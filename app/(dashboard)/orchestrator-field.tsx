'use client'

import { field, label } from '@/app/(dashboard)/look'

/** Narrows a page to one orchestrator; empty: all. */
export function OrchestratorField({
  value,
  onChange,
}: {
  value: string
  onChange: (orchestrator: string | null) => void
}) {
  return (
    <label className={label}>
      Orchestrator
      <input
        className={field}
        placeholder="all"
        value={value}
        onChange={(event) => onChange(event.target.value || null)}
      />
    </label>
  )
}
