import type { MissingVariable, Problem } from './model.ts'

/** Input and results of reading one Compose file. */
export interface Reading {
  /** The project's root, absolute. */
  folder: string
  /** Folder of the Compose file below the root; its paths are relative to it. */
  directory: string
  env: Readonly<Record<string, string>>
  /** The top-level `secrets` and `configs`, by kind and name. */
  definitions: Record<'secrets' | 'configs', Record<string, unknown>>
  /** Source lines of the fields of the stack's own files, by dotted path. */
  lines: Record<string, SourceLine>
  missing: MissingVariable[]
  warnings: Problem[]
  refused: Problem[]
}

export interface SourceLine {
  file: string
  line: number
}

/** The line of a field, or of the nearest enclosing field. */
export function lineOf(path: string, lines: Readonly<Record<string, SourceLine>>): SourceLine | null {
  for (let part = path; part !== ''; part = part.slice(0, Math.max(0, part.lastIndexOf('.'))))
    if (Object.hasOwn(lines, part)) return lines[part]!
  return null
}

/** A field of the file, with the reading it belongs to. */
export interface Location {
  path: string
  reading: Reading
}

export const within = (location: Location, key: string | number): Location => ({
  path: truncate(location.path === '' ? String(key) : `${location.path}.${key}`, 300),
  reading: location.reading,
})

/** Limit of problems: a file may have any number of fields, and each problem quotes one. */
const maxProblems = 500

export function warn(location: Location, message: string): void {
  addProblem(location.reading.warnings, location, message)
}

export function refuse(location: Location, message: string): void {
  addProblem(location.reading.refused, location, message)
}

function addProblem(problems: Problem[], { path }: Location, message: string): void {
  if (problems.length < maxProblems) problems.push({ path, message: truncate(message, 500) })
  // Reported for the whole file: the omitted problems may be about any service.
  else if (problems.length === maxProblems) problems.push({ path: '', message: `there are more than ${maxProblems} problems` })
}

const truncate = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 1)}…` : text)
