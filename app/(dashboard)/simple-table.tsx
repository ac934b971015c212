'use client'

import { type ColumnDef, type RowData, tableFeatures, useTable } from '@tanstack/react-table'
import { card } from '@/app/(dashboard)/look'

export const plain = tableFeatures({})

/** A table that only shows. */
export function SimpleTable<Row extends RowData>({
  caption,
  columns,
  data,
}: {
  caption: string
  columns: ColumnDef<typeof plain, Row>[]
  data: Row[]
}) {
  const table = useTable({ features: plain, columns, data })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
    <section className={`${card} overflow-x-auto`} tabIndex={0} aria-label={caption}>
      <table className="w-full text-left text-sm">
        <caption className="sr-only">{caption}</caption>
        <thead className="border-b border-line">
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => (
                <th key={header.id} scope="col" className="px-4 py-2 font-normal whitespace-nowrap text-muted">
                  <table.FlexRender header={header} />
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id} className="border-b border-line last:border-0">
              {row.getAllCells().map((cell) => (
                <td key={cell.id} className="px-4 py-2.5 align-top">
                  <table.FlexRender cell={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
