import { buildAutomaton } from './automaton.ts'
import { minSecretLength, patternsOf, pieceLength, replaceSpans, type Span } from './scrubber.ts'

/** Common words that reveal no secret; replacing them would make logs unreadable. */
const commonWords = new Set([
  ...['production', 'development', 'staging', 'preview', 'localhost', '127.0.0.1', '0.0.0.0', 'default', 'enabled', 'disabled'],
  ...['postgres', 'postgresql', 'mysql', 'mariadb', 'mongodb', 'redis', 'warning', 'verbose'],
])

/** Limits the memory to about 6 MB. */
const maxCharacters = 128 * 1024

/** True if a value is so short or so common that it stays visible in logs. */
export const isCommonValue = (value: string): boolean => value.length < minSecretLength || commonWords.has(value.toLowerCase())

/**
 * Replaces a fixed set of values by `[secret]`. All values are covered: if they exceed the memory limit, each one is searched by as
 * many of its first pieces as fit into its share.
 */
export function fixedScrubber(values: Iterable<string>): (text: string) => string {
  const secrets = [...new Set(values)].filter((value) => !isCommonValue(value))
  if (secrets.length === 0) return (text) => text
  const share = Math.max(pieceLength * 2, Math.floor(maxCharacters / secrets.length))
  const automaton = buildAutomaton(secrets.flatMap((value) => withinShare(patternsOf(value), share)))
  return (text) => {
    const spans: Span[] = []
    automaton.scan(text, (start, end) => spans.push({ start, end }))
    return replaceSpans(text, spans)
  }
}

function withinShare(patterns: readonly string[], share: number): string[] {
  let remaining = share
  return patterns.filter((pattern, at) => {
    remaining -= pattern.length
    return at === 0 || remaining >= 0
  })
}
