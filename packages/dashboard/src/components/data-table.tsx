import { Text, VisuallyHidden } from '@mantine/core'
import { memo, type ReactNode } from 'react'
import classes from './data-table.module.css'

export interface Column<Row> {
  title: string
  cell(row: Row): ReactNode
  /** Marks the heading of the card that shows a row on a phone. */
  isHeading?: boolean
  alignRight?: boolean
  /** Shown only on wide screens. */
  isWide?: boolean
  width?: string
}

interface Props<Row> {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf(row: Row): string
  /** Shows the values side by side without their titles on a phone: for many rows whose values are self-explanatory. */
  isDense?: boolean
}

/** A table on a wide screen; on a phone each row is a small card, so that nothing scrolls sideways. */
export function DataTable<Row>({ label, columns, rows, keyOf, isDense }: Props<Row>) {
  return (
    <table className={classes.table} data-dense={isDense || undefined} aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ title, alignRight, isWide, width }) => (
            <th
              key={title}
              scope="col"
              data-align-right={alignRight || undefined}
              data-wide={isWide || undefined}
              style={width ? { width } : undefined}
            >
              <Text size="xs" c="dimmed" fw={600} component="span">
                {title || <VisuallyHidden>Actions</VisuallyHidden>}
              </Text>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <TableRow key={keyOf(row)} row={row} columns={columns as readonly Column<unknown>[]} />
        ))}
      </tbody>
    </table>
  )
}

/** Renders again only if its row or the columns changed: a live table of a thousand rows renders only the new ones. */
const TableRow = memo(({ row, columns }: { row: unknown; columns: readonly Column<unknown>[] }) => (
  <tr>
    {columns.map(({ title, cell, isHeading, alignRight, isWide }) => (
      <td
        key={title}
        data-title={isHeading ? undefined : title}
        data-heading={isHeading || undefined}
        data-align-right={alignRight || undefined}
        data-wide={isWide || undefined}
      >
        {cell(row)}
      </td>
    ))}
  </tr>
))
