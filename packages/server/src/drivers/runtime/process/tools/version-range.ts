import { Range } from 'semver'

/** Major, minor, patch. */
export type Version = readonly [number, number, number]

const fullVersion = /^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:\+[\w.-]*)?$/

/** Parses a released version. Null for a prerelease. */
export function versionOf(text: string): Version | null {
  const [, ...numbers] = fullVersion.exec(text.trim()) ?? []
  return numbers.length === 3 ? (numbers.map(Number) as unknown as Version) : null
}

export const formatVersion = (version: Version) => version.join('.')

export function compare(left: Version, right: Version): number {
  for (const at of [0, 1, 2] as const) if (left[at] !== right[at]) return left[at] - right[at]
  return 0
}

/** Whether a range, as in package.json, allows a version. Null if the range cannot be parsed, or names a prerelease. */
export function allows(range: string, version: Version): boolean | null {
  return rangeOf(range)?.test(formatVersion(version)) ?? null
}

/** Whether the range names exactly one version. */
export const isExact = (range: string) => versionOf(range.replace(/^=/, '')) !== null

function rangeOf(text: string): Range | null {
  // Only released versions are installed. `~=` and `==` are Python's, where `~=3.10` allows 3.11.
  if (/\d-[\da-z]|[~^=]=/i.test(text)) return null
  try {
    // Composer and Python separate the parts of a range with commas.
    return new Range(text.replaceAll(',', ' '))
  } catch {
    return null
  }
}
