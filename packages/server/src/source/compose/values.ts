import { parseBytes, parseSeconds } from './amounts.ts'
import { type Location, refuse, within } from './location.ts'

/**
 * Readers of single values. The parser leaves only texts, nulls, lists and mappings: numbers and booleans are kept as written, so
 * `1.10` stays `1.10`. A value of the wrong type is refused and read as absent.
 */

export function textAt(value: unknown, location: Location): string | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return value
  refuse(location, 'is not a text')
  return null
}

/**
 * A scalar as text, for values that are checked whatever their type. `String` would call `toString` of a mapping, which the file
 * may define.
 */
export const plainText = (value: unknown): string =>
  ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '(not a text)'

const yes = /^(true|yes|on|y)$/i
const no = /^(false|no|off|n|)$/i

export function flagAt(value: unknown, location: Location): boolean | null {
  const text = textAt(value, location)
  if (text === null) return null
  if (yes.test(text)) return true
  if (!no.test(text)) refuse(location, `"${text}" is neither true nor false`)
  return no.test(text) ? false : null
}

/** Whether a switch is on or not clearly off, for switches that give access to the host. */
export const mayBeOn = (value: unknown): boolean =>
  value !== undefined && value !== null && !(typeof value === 'string' && no.test(value))

export function numberAt(value: unknown, location: Location): number | null {
  const text = textAt(value, location)
  if (text === null) return null
  if (/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text)
  refuse(location, `"${text}" is not a number`)
  return null
}

export function wholeNumberAt(value: unknown, location: Location): number | null {
  const number = numberAt(value, location)
  if (number === null || (Number.isInteger(number) && number >= 0)) return number
  refuse(location, `${number} is not a whole number`)
  return null
}

export function sizeMbAt(value: unknown, location: Location): number | null {
  const text = textAt(value, location)
  if (text === null) return null
  const bytes = parseBytes(text)
  if (bytes === null) refuse(location, `"${text}" is not a size such as 512m or 1.5g`)
  return bytes === null ? null : Math.ceil(bytes / 1024 ** 2)
}

export function secondsAt(value: unknown, location: Location): number | null {
  const text = textAt(value, location)
  if (text === null) return null
  const seconds = parseSeconds(text)
  if (seconds === null) refuse(location, `"${text}" is not a duration such as 10s or 1m30s`)
  return seconds
}

export function listAt(value: unknown, location: Location): unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  refuse(location, 'is not a list')
  return []
}

/** A text or a list of texts. */
export function textsAt(value: unknown, location: Location): string[] {
  if (typeof value === 'string') return [value]
  return listAt(value, location).flatMap((item, index) => textAt(item, within(location, index)) ?? [])
}

export const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The fields of a mapping, without extension fields (`x-…`). */
export function fieldsAt(value: unknown, location: Location): [string, unknown][] {
  if (value === undefined || value === null) return []
  if (isMapping(value)) return Object.entries(value).filter(([key]) => !key.startsWith('x-'))
  refuse(location, 'is not a mapping')
  return []
}

/** A mapping, or a list of `KEY=value`; a key without a value is `null`. */
export function pairsAt(value: unknown, location: Location): [string, string | null][] {
  if (isMapping(value)) return Object.entries(value).map(([key, item]) => [key, textAt(item, within(location, key))])
  if (!Array.isArray(value) && value !== undefined && value !== null) refuse(location, 'is neither a mapping nor a list')
  if (!Array.isArray(value)) return []
  return textsAt(value, location).map((pair) => {
    const equals = pair.indexOf('=')
    return equals < 0 ? [pair, null] : [pair.slice(0, equals), pair.slice(equals + 1)]
  })
}

const reasonFor = (key: string, reasons: Readonly<Record<string, string>>) =>
  Object.hasOwn(reasons, key) ? reasons[key]! : notSupported

export const notSupported = 'is not supported: remove it or use a supported setting'

/** Refuses unknown fields of a mapping; `reasons` has specific messages. */
export function refuseOthers(
  value: unknown,
  known: readonly string[],
  location: Location,
  reasons: Readonly<Record<string, string>> = {},
): void {
  if (!isMapping(value)) return
  for (const key of Object.keys(value))
    if (!known.includes(key) && !key.startsWith('x-')) refuse(within(location, key), reasonFor(key, reasons))
}
