/** What an engine says may be of any form: what is not as expected counts as not said. */

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const record = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {})
export const text = (value: unknown): string => (typeof value === 'string' ? value : '')
export const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
export const count = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)
export const flag = (value: unknown): boolean => value === true
/** Of the parts of one container; nobody has more of anything, and millions of small ones take more memory than their bytes. */
const partsAtMost = 20_000
/** Labels and options: a Compose file has some dozens. */
export const wordsAtMost = 200
/** Labels that say what made a container. They are kept wherever they stand among the others. */
const ownLabels = /^(com\.docker\.compose|berth)\./
const ownLabelsAtMost = 50
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, partsAtMost) : [])
export const names = (value: unknown): string[] => Object.keys(record(value)).slice(0, partsAtMost)
export const texts = (value: unknown): string[] => list(value).filter((one) => typeof one === 'string')
export const textsOrNull = (value: unknown): string[] | null => (Array.isArray(value) ? texts(value) : null)

/** Without a prototype: a name such as `__proto__` is a name like any other. */
export function words(value: unknown): Record<string, string> {
  const found: Record<string, string> = Object.create(null)
  const given = record(value)
  let [left, leftOwn] = [wordsAtMost, ownLabelsAtMost]
  // A name at a time: all of them at once are as many as a server cares to send.
  for (const name in given) {
    const isOwn = leftOwn > 0 && ownLabels.test(name)
    if (isOwn) leftOwn -= 1
    else if (left > 0) left -= 1
    else continue
    const one = given[name]
    if (Object.hasOwn(given, name) && typeof one === 'string') found[name] = one
  }
  return found
}
