/** Formats a Markdown table, which can be copied into the docs: the first column is left-aligned, the others right-aligned. */
export function table(columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [columns, ...rows].map((row) => row.map(cellText))
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => pad(row[column] ?? '', width, column)).join(' | ')} |`
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  const [head, ...body] = cells
  return [line(head!), rule, ...body.map(line)].join('\n')
}

export const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
export const ratio = (part: number, whole: number) => (whole === 0 ? '–' : (part / whole).toFixed(2))

/** Formats a number with three significant digits, and as a whole number above a hundred. */
function cellText(value: string | number) {
  if (typeof value === 'string') return value
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}

const pad = (text: string, width: number, column: number) => (column === 0 ? text.padEnd(width) : text.padStart(width))
