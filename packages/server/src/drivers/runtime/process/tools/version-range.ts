/** Major, minor, patch. */
export type Version = readonly [number, number, number]

/** Half-open interval: includes the first version, excludes the second. Null: no upper bound. */
type Span = readonly [Version, Version | null]

const whole = /^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:\+[\w.-]*)?$/
const part = /^(>=|<=|>|<|=|\^|~>?)?v?(\d{1,6}|[xX*])?(?:\.(\d{1,6}|[xX*]))?(?:\.(\d{1,6}|[xX*]))?$/

/** Parses a released version. Null for a prerelease. */
export function versionOf(text: string): Version | null {
  const [, ...numbers] = whole.exec(text.trim()) ?? []
  return numbers.length === 3 ? (numbers.map(Number) as unknown as Version) : null
}

export const textOf = (version: Version) => version.join('.')

export function compare(left: Version, right: Version): number {
  for (const at of [0, 1, 2] as const) if (left[at] !== right[at]) return left[at] - right[at]
  return 0
}

/** Whether a range, as in package.json, allows a version. Null if the range cannot be parsed. */
export function allows(range: string, version: Version): boolean | null {
  const ways = range.split('||').map(spansOf)
  if (ways.includes(null)) return null
  return ways.some((spans) =>
    spans?.every(([from, to]) => compare(version, from) >= 0 && (to === null || compare(version, to) < 0)),
  )
}

/** Whether the range names exactly one version. */
export const isExact = (range: string) => versionOf(range.replace(/^=/, '')) !== null

/** Intervals that must all contain the version. */
function spansOf(text: string): Span[] | null {
  const [first, last, more] = text.trim().split(/\s+-\s+/)
  if (last !== undefined) return more === undefined ? both(spanOf(`>=${first}`), spanOf(`<=${last}`)) : null
  const words = text
    .trim()
    .replace(/(>=|<=|>|<|=|\^|~>?)\s+/g, '$1')
    .split(/[\s,]+/)
    .filter(Boolean)
  const spans = words.map(spanOf)
  return spans.includes(null) ? null : (spans as Span[])
}

const both = (one: Span | null, other: Span | null): Span[] | null => (one && other ? [one, other] : null)

function spanOf(word: string): Span | null {
  const found = part.exec(word)
  if (!found) return null
  const [, operator = '', ...texts] = found
  if (operator && texts[0] === undefined) return null
  const given: number[] = []
  for (const text of texts) {
    if (text === undefined || !/^\d/.test(text)) break
    given.push(Number(text))
  }
  const from = [given[0] ?? 0, given[1] ?? 0, given[2] ?? 0] as const
  if (given.length === 0) return [from, null]
  const next = after(from, given.length)
  if (operator === '>=') return [from, null]
  if (operator === '>') return [next, null]
  if (operator === '<') return [[0, 0, 0], from]
  if (operator === '<=') return [[0, 0, 0], next]
  if (operator === '^') return [from, after(from, Math.min(given.length, from.findIndex((number) => number > 0) + 1 || 3))]
  if (operator.startsWith('~')) return [from, after(from, Math.min(given.length, 2))]
  return [from, next]
}

/** The lowest version in which the last of the given leading numbers is higher. */
function after([major, minor, patch]: Version, numbers: number): Version {
  if (numbers === 1) return [major + 1, 0, 0]
  return numbers === 2 ? [major, minor + 1, 0] : [major, minor, patch + 1]
}
