import { parseEnv } from 'node:util'
import { interpolate } from './interpolate.ts'

/** Maximum size of an env file. */
const maxEnvFileLength = 256 * 1024
/** Maximum total length of the values after interpolation. */
const maxValues = 1024 ** 2

/**
 * The variables of an env file. As in Compose, a value may reference earlier variables and `known` ones, which take precedence; in
 * single quotes a dollar is literal.
 */
export function readEnvFile(text: string, known: Readonly<Record<string, string>> = {}): Record<string, string> {
  const limitedText = text.slice(0, maxEnvFileLength)
  const lines = [...limitedText.matchAll(/^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*('?)/gm)]
  const literal = new Set(lines.flatMap(([, name, quote]) => (quote ? [name] : [])))
  // The parser sorts the names, but a value may only reference earlier ones.
  const positions = new Map(lines.map(({ 1: name = '', index }) => [name, index]))
  const parsed = Object.entries(parseEnv(limitedText) as Record<string, string>)
  parsed.sort(([left], [right]) => (positions.get(left) ?? 0) - (positions.get(right) ?? 0))
  const values: Record<string, string> = {}
  const scope: Record<string, string> = { ...known }
  let remaining = maxValues
  for (const [name, value] of parsed) {
    values[name] = literal.has(name) || !value.includes('$') ? value : interpolate(value, scope, remaining).value
    if (!Object.hasOwn(known, name)) scope[name] = values[name]
    remaining -= values[name].length
    if (remaining <= 0) break
  }
  return values
}
