import type { Command } from 'commander'
import { plainText } from './plain-text.ts'

interface Problem {
  message: string
  code?: string
  field?: string
  requestId?: string
}

export interface Output {
  /** Whether notes are shown. */
  showsNotes: boolean
  /** Prints the result: as JSON with `--json`, otherwise as text. */
  result(value: unknown, text: () => string): void
  /** Prints a note for the user; nothing with `--json`. */
  note(message: string): void
  /** A warning of the server, on standard error, with `--json` too. */
  warning(message: string): void
  problem(problem: Problem): void
}

/** The output of a command: results on standard output, everything else on standard error. Untrusted text is stripped of control sequences. */
export function output(command: Command): Output {
  const json = command.optsWithGlobals().json === true
  return {
    showsNotes: !json,
    result: (value, text) =>
      process.stdout.write(`${json ? JSON.stringify(value, null, 2) : plainText(text(), process.stdout)}\n`),
    note: (message) => void (json || process.stderr.write(`${plainText(message, process.stderr)}\n`)),
    warning: (message) =>
      void process.stderr.write(
        `${json ? JSON.stringify({ warning: message }) : plainText(`warning: ${message}`, process.stderr)}\n`,
      ),
    problem: ({ message, ...rest }) =>
      process.stderr.write(
        `${json ? JSON.stringify({ error: message, ...rest }) : plainText(`error: ${message}${detailsText(rest)}`, process.stderr)}\n`,
      ),
  }
}

const detailsText = ({ field, requestId }: Omit<Problem, 'message'>) =>
  [field ? `\n  field: ${field}` : '', requestId ? `\n  request: ${requestId}` : ''].join('')

/** Columns wide enough for their content. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** A time in UTC to the minute, as tables show it. */
export const minute = (time: string): string => time.slice(0, 16).replace('T', ' ')

/** A time to the minute with its zone, for sentences and next to a schedule in another time zone. */
export const minuteUtc = (time: string): string => `${minute(time)} UTC`
