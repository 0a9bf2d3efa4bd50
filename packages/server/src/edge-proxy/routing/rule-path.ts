import { decodeAll, pathSteps, utf8Bytes, utf8Text } from '../message/path-steps.ts'

const maxReadings = 256
/** Maximum number of characters that are rewritten for one request. */
const maxWork = 196_608

/**
 * Every way in which a server behind the edge may read a path: all orders of all steps. A rule applies if one of them is below its
 * prefix, so that `/x/..//%61dmin` does not bypass a rule on `/admin`, whatever server is behind the edge.
 */
export class PathReadings {
  /** Undefined: too many readings. A legitimate client does not send such a path, and every rule applies to it. */
  readonly #readings: readonly string[] | undefined

  constructor(target: string) {
    const query = target.indexOf('?')
    const path = query === -1 ? target : target.slice(0, query)
    this.#readings = ambiguousPath.test(path) ? allReadings(path)?.flatMap(decodedForms) : [foldCase(path)]
  }

  /** `prefixes` come from `rulePrefixes` and end in a slash: `/admin/` covers `/admin` and `/admin/x`, not `/administrator`. */
  below(prefixes: readonly string[]): boolean {
    return this.#readings?.some((reading) => prefixes.some((prefix) => `${reading}/`.startsWith(prefix))) ?? true
  }
}

/**
 * The forms in which a prefix is compared, each ending in one slash so that only whole segments match: the text as written,
 * and decoded where it was written with escapes or doubled slashes.
 */
export function rulePrefixes(prefix: string): string[] {
  const bytes = utf8Bytes(prefix)
  const variants = [bytes, decodeAll(bytes)].flatMap((path) => [path, path.replaceAll(/\/{2,}/g, '/')])
  return [...new Set(variants.map((path) => `${foldCase(utf8Text(path)).replace(/\/+$/, '')}/`))]
}

const ambiguousPath = /[%\\;#+]|\/\/|\/\.|\.(?:\/|$)|[^\x21-\x7e]|\.(?:php\d?|phtml|f?cgi)\/|^\/(?:_next\/|page-)data\//i

/** All paths that any sequence of steps produces, or undefined if there are too many. */
function allReadings(path: string): string[] | undefined {
  const found = new Set([path])
  let work = 0
  for (const reading of found) {
    for (const step of pathSteps) {
      const next = step(reading)
      work += next === reading ? reading.length >> 4 : reading.length
      found.add(next)
      if (found.size > maxReadings || work > maxWork) return undefined
    }
  }
  return [...found]
}

/** The bytes as UTF-8 and, for servers that decode them so, as Latin-1. */
const decodedForms = (reading: string): string[] => {
  const text = utf8Text(reading)
  return text === reading ? [foldCase(text)] : [foldCase(text), foldCase(reading)]
}

/** Case-insensitive, as Express and file systems compare; through upper case, because some letters are equal only there. */
const foldCase = (text: string) => text.toUpperCase().toLowerCase().replaceAll('+', ' ')
