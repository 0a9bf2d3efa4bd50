/** One line of a .gitignore or .berthignore. */
interface IgnoreRule {
  /** The folder of the file that holds the line, '' at the top; the rule says nothing of paths elsewhere. */
  base: string
  includes: boolean
  foldersOnly: boolean
  /** Matched part by part against the path below `base`. */
  parts: PatternPart[]
}

type PatternPart = 'any folders' | Token[]
type Token =
  | { is: 'any' }
  | { is: 'one' }
  | { is: 'character'; character: string }
  | { is: 'set'; negated: boolean; ranges: [string, string][] }

export class IgnoreRules {
  readonly #rules: readonly IgnoreRule[]

  private constructor(rules: readonly IgnoreRule[]) {
    this.#rules = rules
  }

  static readonly none = new IgnoreRules([])

  /** Later lines win over earlier ones, those of a deeper folder over those above it. */
  with(text: string, base: string): IgnoreRules {
    const rules = text.split('\n').map((line) => parseLine(line, base))
    return new IgnoreRules([...this.#rules, ...rules.filter((rule) => rule !== null)])
  }

  /** Null when no line speaks of it. `path` has no slash at either end; the folders above it are taken as not ignored. */
  verdict(path: string, isFolder: boolean): 'ignored' | 'included' | null {
    const rule = this.#rules.findLast((candidate) => matches(candidate, path, isFolder))
    return rule === undefined ? null : rule.includes ? 'included' : 'ignored'
  }
}

function parseLine(line: string, base: string): IgnoreRule | null {
  let pattern = line.replace(/\r$/, '').replace(/(?<!\\)[ \t]+$/, '')
  if (pattern === '' || pattern.startsWith('#')) return null
  const includes = pattern.startsWith('!')
  if (includes) pattern = pattern.slice(1)
  const foldersOnly = pattern.endsWith('/')
  if (foldersOnly) pattern = pattern.slice(0, -1)
  const isAnchored = pattern.includes('/')
  const names = pattern.replace(/^\//, '').split('/')
  if (names.every((name) => name === '')) return null
  const parts = names.map((name): PatternPart => (/^\*{2,}$/.test(name) ? 'any folders' : tokensOf(name)))
  // "a/**" is everything in a, not a itself.
  if (parts.at(-1) === 'any folders') parts.push([{ is: 'any' }])
  return { base, includes, foldersOnly, parts: isAnchored ? parts : ['any folders', ...parts] }
}

function tokensOf(name: string): Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < name.length; at += 1) {
    const character = name[at]!
    if (character === '*') {
      if (tokens.at(-1)?.is !== 'any') tokens.push({ is: 'any' })
    } else if (character === '?') tokens.push({ is: 'one' })
    else if (character === '\\' && at + 1 < name.length) tokens.push({ is: 'character', character: name[++at]! })
    else if (character === '[' && name.indexOf(']', at + 2) !== -1) {
      const end = name.indexOf(']', at + 2)
      tokens.push(setOf(name.slice(at + 1, end)))
      at = end
    } else tokens.push({ is: 'character', character })
  }
  return tokens
}

function setOf(inside: string): Token {
  const negated = /^[!^]/.test(inside)
  const text = negated ? inside.slice(1) : inside
  const ranges: [string, string][] = []
  for (let at = 0; at < text.length; at += 1) {
    const from = text[at]!
    const isRange = text[at + 1] === '-' && at + 2 < text.length
    ranges.push([from, isRange ? text[at + 2]! : from])
    if (isRange) at += 2
  }
  return { is: 'set', negated, ranges }
}

function matches(rule: IgnoreRule, path: string, isFolder: boolean): boolean {
  if (rule.foldersOnly && !isFolder) return false
  if (rule.base !== '' && !path.startsWith(`${rule.base}/`)) return false
  const names = path.slice(rule.base === '' ? 0 : rule.base.length + 1).split('/')
  return matchesAll(rule.parts, names, coversMany, matchesName)
}

const coversMany = (part: PatternPart) => part === 'any folders'

const matchesName = (part: PatternPart, name: string): boolean =>
  part !== 'any folders' && matchesAll(part, [...name], (token) => token.is === 'any', matchesCharacter)

function matchesCharacter(token: Token, character: string): boolean {
  if (token.is === 'one') return true
  if (token.is === 'character') return token.character === character
  return token.is === 'set' && token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated
}

/**
 * Whether the pattern covers all items, where an `isAny` element covers any number of them. Going back to the last such
 * element is enough, so no pattern takes longer than its length times the items': the patterns are strangers'.
 */
function matchesAll<Element, Item>(
  pattern: readonly Element[],
  items: readonly Item[],
  isAny: (element: Element) => boolean,
  covers: (element: Element, item: Item) => boolean,
): boolean {
  let [at, item, lastAny, resumeAt] = [0, 0, -1, 0]
  while (item < items.length) {
    if (at < pattern.length && isAny(pattern[at]!)) {
      lastAny = at++
      resumeAt = item
    } else if (at < pattern.length && covers(pattern[at]!, items[item]!)) {
      at += 1
      item += 1
    } else if (lastAny !== -1) {
      at = lastAny + 1
      item = ++resumeAt
    } else return false
  }
  while (at < pattern.length && isAny(pattern[at]!)) at += 1
  return at === pattern.length
}
