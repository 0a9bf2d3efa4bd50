import { type Dialect, tokensOf } from './name-tokens.ts'
import { PathPattern, type Token } from './path-pattern.ts'

/** A line of a .gitignore or .berthignore. */
interface IgnoreRule {
  /** The folder of the ignore file, '' at the top; the rule applies only below it. */
  base: string
  includes: boolean
  isFoldersOnly: boolean
  /** Matches the path relative to `base`. */
  pattern: PathPattern
}

/** Paths that .gitignore and .berthignore exclude, by git's rules: the last matching line decides, `!` includes again. */
export class IgnoreRules {
  readonly #rules: readonly IgnoreRule[]

  private constructor(rules: readonly IgnoreRule[]) {
    this.#rules = rules
  }

  static readonly none = new IgnoreRules([])

  /** Adds the lines of a file. Later lines win over earlier ones, and those of a deeper folder over those above it. */
  with(text: string, base: string): IgnoreRules {
    const rules = text
      .replace(/^\uFEFF/, '')
      .split('\n')
      .map((line) => parseLine(line, base))
    return new IgnoreRules([...this.#rules, ...rules.filter((rule) => rule !== null)])
  }

  /** Null when no line matches. `path` has no slash at either end; its parent folders are assumed not to be ignored. */
  verdict(path: string, isFolder: boolean): 'ignored' | 'included' | null {
    const rule = this.#rules.findLast((candidate) => matches(candidate, path, isFolder))
    return rule === undefined ? null : rule.includes ? 'included' : 'ignored'
  }

  /**
   * Whether the path or a parent folder is ignored. Each pattern reads the path once, at any depth. The generator yields between
   * patterns and within a long path, so that other work can run.
   */
  *isExcluded(path: string, isFolder: boolean): Generator<void, boolean> {
    const depth = path.split('/').length - 1
    const decided = new Set<number>()
    for (const rule of this.#rules.toReversed()) {
      for (const at of yield* matchedDepths(rule, path)) {
        if (decided.has(at) || (rule.isFoldersOnly && at === depth && !isFolder)) continue
        if (!rule.includes) return true
        decided.add(at)
      }
      yield
    }
    return false
  }
}

function parseLine(line: string, base: string): IgnoreRule | null {
  let pattern = withoutTrailingSpaces(line.endsWith('\r') ? line.slice(0, -1) : line)
  if (pattern === '' || pattern.startsWith('#')) return null
  const includes = pattern.startsWith('!')
  if (includes) pattern = pattern.slice(1)
  const isFoldersOnly = pattern.endsWith('/')
  if (isFoldersOnly) pattern = pattern.slice(0, -1)
  const isAnchored = pattern.includes('/')
  const names = (pattern.startsWith('/') ? pattern.slice(1) : pattern).split('/')
  if (names.every((name) => name === '')) return null
  return { base, includes, isFoldersOnly, pattern: new PathPattern(tokensOfNames(names, isAnchored)) }
}

/** Removes trailing spaces as git does: escaped ones stay. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === ' ') end -= 1
  let slashes = 0
  while (line[end - 1 - slashes] === '\\') slashes += 1
  return line.slice(0, slashes % 2 === 1 && end < line.length ? end + 1 : end)
}

const dialect: Dialect = { negators: '!^', isPosix: true }

function tokensOfNames(names: readonly string[], isAnchored: boolean): Token[] {
  const tokens: Token[] = isAnchored ? [] : [{ is: 'folders' }]
  for (const [index, name] of names.entries()) {
    const isLast = index === names.length - 1
    if (isStars(name)) {
      if (tokens.at(-1)?.is !== 'folders') tokens.push({ is: 'folders' })
      // "a/**" is everything in a, not a itself.
      if (isLast) tokens.push({ is: 'one' }, { is: 'any' })
      continue
    }
    for (const token of tokensOf(name, dialect)) tokens.push(token)
    if (!isLast) tokens.push({ is: 'character', character: '/' })
  }
  return tokens
}

function isStars(name: string): boolean {
  return name.length > 1 && [...name].every((character) => character === '*')
}

function matches(rule: IgnoreRule, path: string, isFolder: boolean): boolean {
  if (rule.isFoldersOnly && !isFolder) return false
  if (rule.base === '') return rule.pattern.matches(path)
  return path.startsWith(`${rule.base}/`) && rule.pattern.matches(path.slice(rule.base.length + 1))
}

function* matchedDepths({ base, pattern }: IgnoreRule, path: string): Generator<void, number[]> {
  if (base === '') return yield* pattern.matchedDepths(path)
  if (!path.startsWith(`${base}/`)) return []
  const baseDepth = base.split('/').length
  const found = yield* pattern.matchedDepths(path.slice(base.length + 1))
  return found.map((at) => at + baseDepth)
}
