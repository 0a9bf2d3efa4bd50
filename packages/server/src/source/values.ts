/** Readers for parsed files with arbitrary content. */

export const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

export const textOf = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value : null)

export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []

/** The entries whose values are texts. */
export const textEntries = (value: unknown): [string, string][] =>
  Object.entries(recordOf(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string')

/** The value at a path of keys. */
export const dig = (value: unknown, ...keys: string[]): unknown => {
  let found = value
  for (const key of keys) {
    const fields = recordOf(found)
    found = Object.hasOwn(fields, key) ? fields[key] : undefined
  }
  return found
}
