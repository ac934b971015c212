import type { Column } from '@/app/(dashboard)/columns'
import type { LiveWork } from '@/lib/queue/list-live-work'

interface WorkListProps {
  title: string
  /** What the list is of and how it is ordered. */
  description: string
  work: LiveWork[]
  /** How many there are in all. */
  total: number
  columns: readonly Column[]
  whenEmpty: string
}

const number = new Intl.NumberFormat('en-US')

/** One list of work: a table where there is room for one, else a card for each piece of work. */
export function WorkList({ title, description, work, total, columns, whenEmpty }: WorkListProps) {
  const id = title.toLowerCase()
  return (
    <section aria-labelledby={id}>
      <div className="mb-2.5 flex flex-wrap items-baseline gap-x-3">
        <h2 id={id} className="text-lg font-semibold tracking-tight">
          {title}
        </h2>
        <p className="text-sm text-muted">
          {description}
          {total > work.length && ` · the first ${number.format(work.length)} of ${number.format(total)}`}
        </p>
      </div>
      {work.length === 0 ? (
        <p className="rounded-xl border border-dashed border-line px-4 py-4 text-muted">{whenEmpty}</p>
      ) : (
        <table className="block w-full text-left lg:table lg:table-fixed">
          <caption className="sr-only">{`${title}: ${description}`}</caption>
          <Head columns={columns} />
          <tbody className="grid gap-3 lg:table-row-group">
            {work.map((item) => (
              <Row key={item.queueId} work={item} columns={columns} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

function Head({ columns }: { columns: readonly Column[] }) {
  return (
    <thead className="sr-only lg:not-sr-only lg:table-header-group">
      <tr>
        {columns.map(({ heading, width }) => (
          <th key={heading} scope="col" className={`px-4 pb-1.5 text-sm font-normal text-muted ${width}`}>
            {heading}
          </th>
        ))}
      </tr>
    </thead>
  )
}

const rowLook =
  'grid grid-cols-2 gap-x-4 gap-y-3 rounded-xl border border-line bg-surface p-4 lg:table-row lg:border-0 lg:p-0'
const cellLook =
  'align-top font-normal lg:table-cell lg:border-y lg:border-line lg:bg-surface lg:px-4 lg:py-3 lg:first:rounded-l-xl'
const labelLook = 'before:block before:text-xs before:text-muted before:content-[attr(data-label)] lg:before:hidden'

function Row({ work, columns }: { work: LiveWork; columns: readonly Column[] }) {
  return (
    <tr className={rowLook}>
      {columns.map(({ heading, cell, isWide }, index) =>
        index === 0 ? (
          <th key={heading} scope="row" className={`col-span-2 ${cellLook}`}>
            {cell(work)}
          </th>
        ) : (
          <td key={heading} data-label={heading} className={`${cellLook} ${labelLook} ${isWide ? 'col-span-2' : ''}`}>
            {cell(work)}
          </td>
        ),
      )}
    </tr>
  )
}
