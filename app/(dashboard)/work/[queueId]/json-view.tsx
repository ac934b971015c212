'use client'

import { useState } from 'react'
import { button, card, code, field } from '@/app/(dashboard)/look'
import { StoredText } from '@/app/(dashboard)/stored-text'
import { toasts } from '@/app/(dashboard)/toasts'

const MAX_LINES = 2_000

/** JSON as text, with a search for its lines and a button that copies it. */
export function JsonView({ title, value }: { title: string; value: unknown }) {
  const [search, setSearch] = useState('')
  const text = JSON.stringify(value, null, 2) ?? 'null'
  const lines = text.split('\n')
  const wanted = search.toLowerCase()
  const found = wanted === '' ? lines : lines.filter((line) => line.toLowerCase().includes(wanted))
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => toasts.add({ title: `${title} copied.` }),
      () => toasts.add({ type: 'error', title: 'The browser does not let this page copy.' }),
    )
  return (
    <section aria-label={title} className={`${card} min-w-0 px-5 py-4`}>
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <h2 className="mr-auto font-semibold">{title}</h2>
        <input
          type="search"
          aria-label={`Search the ${title.toLowerCase()}`}
          placeholder="search"
          className={`${field} w-40!`}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <button type="button" className={button} onClick={copy}>
          Copy
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard. */}
      <pre className={`${code} max-h-128`} tabIndex={0}>
        {found.slice(0, MAX_LINES).map((line, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name.
          <div key={n}>
            <StoredText text={line} />
          </div>
        ))}
        {found.length > MAX_LINES && `… ${found.length - MAX_LINES} more lines; copy has them all`}
        {found.length === 0 && 'No line holds this.'}
      </pre>
    </section>
  )
}
