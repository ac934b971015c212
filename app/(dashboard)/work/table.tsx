'use client'

import { type RowSelectionState, useTable } from '@tanstack/react-table'
import { card } from '@/app/(dashboard)/look'
import { columnsFor, features, type ListedWork } from '@/app/(dashboard)/work/columns'

const withActions = columnsFor(true)
const withoutActions = columnsFor(false)
const nameOf = ({ queueId }: ListedWork) => `${queueId}`

interface WorkTableProps {
  items: ListedWork[]
  canAct: boolean
  selected: RowSelectionState
  onSelect: (selected: RowSelectionState) => void
}

/** The list: a table where there is room for one, else a card for each piece of work. */
export function WorkTable({ items, canAct, selected, onSelect }: WorkTableProps) {
  const table = useTable({
    features,
    columns: canAct ? withActions : withoutActions,
    data: items,
    getRowId: nameOf,
    state: { rowSelection: selected },
    onRowSelectionChange: (change) => onSelect(typeof change === 'function' ? change(selected) : change),
  })
  return (
    <div className={`${card} overflow-x-auto`}>
      <table className="block w-full text-left text-sm lg:table">
        <caption className="sr-only">Work, newest first</caption>
        <thead className="block border-b border-line lg:table-header-group">
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => (
                <th
                  key={header.id}
                  scope="col"
                  className={`px-4 py-2 font-normal text-muted ${header.id === 'selection' ? '' : 'sr-only lg:not-sr-only lg:px-4! lg:py-2!'}`}
                >
                  <table.FlexRender header={header} />
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody className="block lg:table-row-group">
          {table.getRowModel().rows.map((row) => (
            <tr
              key={row.id}
              className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 border-b border-line p-4 last:border-0 focus-within:bg-sunken lg:table-row lg:p-0"
              onKeyDown={(event) => {
                if (canAct && event.key === 'x' && event.target instanceof HTMLAnchorElement) row.toggleSelected()
              }}
            >
              {row.getAllCells().map((cell) => (
                <td
                  key={cell.id}
                  className={`align-top lg:px-4 lg:py-2.5 ${cell.column.id === 'selection' ? 'row-span-6' : 'col-start-2'} ${cell.column.id === 'work' ? 'lg:max-w-md' : 'lg:max-w-xs'}`}
                >
                  <table.FlexRender cell={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
