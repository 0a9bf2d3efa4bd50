import { posix } from 'node:path'
import { type Dialect, tokensOf } from './name-tokens.ts'
import { PathPattern } from './path-pattern.ts'

/** Paths that a `.dockerignore` excludes, by Docker's rules: the last matching line decides, `!` includes again. */
export function dockerIgnore(text: string): (path: string, isFolder: boolean) => boolean | 'look-inside' {
  const rules = text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map(ruleOf)
    .filter((rule) => rule !== null)
  const hasExceptions = rules.some(({ isException }) => isException)
  return (path, isFolder) => {
    const last = rules.findLast(({ pattern }) => pattern.matches(path, true))
    const isIgnored = last !== undefined && !last.isException
    // An excluded folder may contain paths that are included again.
    return isIgnored && isFolder && hasExceptions ? 'look-inside' : isIgnored
  }
}

/** Parses a line. Comments start in the first column; a path is relative to the folder, with or without a leading slash. */
function ruleOf(line: string): { isException: boolean; pattern: PathPattern } | null {
  const trimmed = line.startsWith('#') ? '' : line.trim()
  const isException = trimmed.startsWith('!')
  const patternText = isException ? trimmed.slice(1).trim() : trimmed
  if (patternText === '') return null
  const path = posix.normalize(patternText)
  const from = path.startsWith('/') ? 1 : 0
  const to = path.length > 1 && path.endsWith('/') ? -1 : undefined
  return { isException, pattern: new PathPattern(tokensOf(path.slice(from, to), dialect)) }
}

/** Go's filepath.Match, plus `**` for any folders. */
const dialect: Dialect = {
  negators: '^',
  isPosix: false,
  stars: (characters, at) => {
    const length = characters[at + 2] === '/' ? 3 : 2
    return { length, token: { is: at + length === characters.length ? 'all' : 'folders' } }
  },
}
