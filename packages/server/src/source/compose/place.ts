import type { MissingVariable, Problem } from './model.ts'

/** What one reading of a file knows from the start and collects on its way. */
export interface Reading {
  /** The project's root, absolute. */
  folder: string
  /** Where the Compose file lies below the root; its paths are relative to there. */
  directory: string
  env: Readonly<Record<string, string>>
  /** The top-level `secrets` and `configs`, by kind and name. */
  definitions: Record<'secrets' | 'configs', Record<string, unknown>>
  /** Where the fields of the stack's own files are, by dotted path. */
  lines: Record<string, SourceLine>
  missing: MissingVariable[]
  warnings: Problem[]
  refused: Problem[]
}

export interface SourceLine {
  file: string
  line: number
}

/** The line of a field, or of the nearest field around it. */
export function lineOf(path: string, lines: Readonly<Record<string, SourceLine>>): SourceLine | null {
  for (let part = path; part !== ''; part = part.slice(0, Math.max(0, part.lastIndexOf('.'))))
    if (Object.hasOwn(lines, part)) return lines[part]!
  return null
}

/** A place in the file and the reading that it belongs to. */
export interface Place {
  path: string
  reading: Reading
}

export const within = (place: Place, key: string | number): Place => ({
  path: cut(place.path === '' ? String(key) : `${place.path}.${key}`, 300),
  reading: place.reading,
})

/** More than anyone reads; keys and values of a file are of any length and number, and each is quoted. */
const maxProblems = 500

export function warn(place: Place, message: string): void {
  note(place.reading.warnings, place, message)
}

export function refuse(place: Place, message: string): void {
  note(place.reading.refused, place, message)
}

function note(problems: Problem[], { path }: Place, message: string): void {
  if (problems.length < maxProblems) problems.push({ path, message: cut(message, 500) })
  // Said of the whole file: the problems that are left out may be those of any service.
  else if (problems.length === maxProblems) problems.push({ path: '', message: `there are more than ${maxProblems} of these` })
}

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 1)}…` : text)
