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
  missing: MissingVariable[]
  warnings: Problem[]
  refused: Problem[]
}

/** A place in the file and the reading that it belongs to. */
export interface Place {
  path: string
  reading: Reading
}

export const within = (place: Place, key: string | number): Place => ({
  path: place.path === '' ? String(key) : `${place.path}.${key}`,
  reading: place.reading,
})

export function warn(place: Place, message: string): void {
  place.reading.warnings.push({ path: place.path, message })
}

export function refuse(place: Place, message: string): void {
  place.reading.refused.push({ path: place.path, message })
}
