import { Text, VisuallyHidden } from '@mantine/core'
import { memo, type ReactNode } from 'react'
import classes from './data-table.module.css'

export interface Column<Row> {
  title: string
  cell(row: Row): ReactNode
  /** On a phone the row becomes a card: this column is its heading. */
  isHeading?: boolean
  isNumber?: boolean
  /** Seen only where there is room. */
  isWide?: boolean
  width?: string
}

interface Props<Row> {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf(row: Row): string
  /** On a phone the figures stand beside each other without their titles: for many rows whose figures say what they are. */
  isDense?: boolean
}

/** A table on a screen with room; on a phone each row is a small card, so nothing scrolls sideways. */
export function DataTable<Row>({ label, columns, rows, keyOf, isDense }: Props<Row>) {
  return (
    <table className={classes.table} data-dense={isDense || undefined} aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ title, isNumber, isWide, width }) => (
            <th
              key={title}
              scope="col"
              data-number={isNumber || undefined}
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

/** Drawn again only when its own row or the columns are others: a live table of a thousand rows draws the new ones. */
const TableRow = memo(({ row, columns }: { row: unknown; columns: readonly Column<unknown>[] }) => (
  <tr>
    {columns.map(({ title, cell, isHeading, isNumber, isWide }) => (
      <td
        key={title}
        data-title={isHeading ? undefined : title}
        data-heading={isHeading || undefined}
        data-number={isNumber || undefined}
        data-wide={isWide || undefined}
      >
        {cell(row)}
      </td>
    ))}
  </tr>
))
