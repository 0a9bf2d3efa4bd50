/** Readers of untrusted engine responses: a value of an unexpected type counts as absent. */

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const record = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {})
export const text = (value: unknown): string => (typeof value === 'string' ? value : '')
export const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
export const count = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)
export const flag = (value: unknown): boolean => value === true
/** Limit per list of one container. Real containers stay below it; millions of small items use more memory than their bytes. */
const maxListItems = 20_000
/** Limit of entries of a map of labels or options. A Compose file has some dozens. */
export const maxMapEntries = 200
/** Labels of the tool that created a container. They are kept beyond `maxMapEntries`. */
const toolLabels = /^(com\.docker\.compose|berth)\./
const maxToolLabels = 50
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, maxListItems) : [])
export const keys = (value: unknown): string[] => Object.keys(record(value)).slice(0, maxListItems)
export const texts = (value: unknown): string[] => list(value).filter((one) => typeof one === 'string')
export const textsOrNull = (value: unknown): string[] | null => (Array.isArray(value) ? texts(value) : null)

/** Reads a string map. The result has no prototype, so `__proto__` is an ordinary key. */
export function stringMap(value: unknown): Record<string, string> {
  const found: Record<string, string> = Object.create(null)
  const source = record(value)
  let remaining = maxMapEntries
  let remainingToolLabels = maxToolLabels
  // Iterates key by key: `Object.keys` would build a list as long as the server chooses.
  for (const name in source) {
    const isToolLabel = remainingToolLabels > 0 && toolLabels.test(name)
    if (isToolLabel) remainingToolLabels -= 1
    else if (remaining > 0) remaining -= 1
    else continue
    const value = source[name]
    if (Object.hasOwn(source, name) && typeof value === 'string') found[name] = value
  }
  return found
}
