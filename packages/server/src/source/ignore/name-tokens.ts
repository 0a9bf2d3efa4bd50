import type { Token } from './path-pattern.ts'

export interface Dialect {
  /** Characters that negate a set: `[!a]`, `[^a]`. */
  negators: string
  /** A bracket at the start of a set belongs to it, and `[:digit:]` is a character class. */
  isPosix: boolean
  /** The meaning of `**`, if it differs from `*`: its length in characters, and its token. */
  stars?: (characters: readonly string[], at: number) => { length: number; token: Token }
}

/** Parses stars, question marks, sets and escapes, which both kinds of ignore file share. */
export function tokensOf(text: string, dialect: Dialect): Token[] {
  const characters = [...text]
  const tokens: Token[] = []
  // An unterminated set is literal text, and then no later set is terminated either.
  let mayHaveSets = true
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at]!
    const set = character === '[' && mayHaveSets ? setAt(characters, at, dialect) : null
    if (character === '[' && !set) mayHaveSets = false
    if (set) {
      tokens.push(set.token)
      at = set.end
    } else if (character === '*' && characters[at + 1] === '*' && dialect.stars) {
      const { length, token } = dialect.stars(characters, at)
      tokens.push(token)
      at += length - 1
    } else if (character === '*') {
      if (tokens.at(-1)?.is !== 'any') tokens.push({ is: 'any' })
    } else if (character === '?') tokens.push({ is: 'one' })
    else if (character === '\\' && at + 1 < characters.length) tokens.push({ is: 'character', character: characters[++at]! })
    else tokens.push({ is: 'character', character })
  }
  return tokens
}

const characterClasses: Record<string, [string, string][]> = {
  alnum: [
    ['0', '9'],
    ['A', 'Z'],
    ['a', 'z'],
  ],
  alpha: [
    ['A', 'Z'],
    ['a', 'z'],
  ],
  blank: [
    [' ', ' '],
    ['\t', '\t'],
  ],
  cntrl: [
    ['\0', '\x1f'],
    ['\x7f', '\x7f'],
  ],
  digit: [['0', '9']],
  graph: [['!', '~']],
  lower: [['a', 'z']],
  print: [[' ', '~']],
  punct: [
    ['!', '/'],
    [':', '@'],
    ['[', '`'],
    ['{', '~'],
  ],
  space: [
    ['\t', '\r'],
    [' ', ' '],
  ],
  upper: [['A', 'Z']],
  xdigit: [
    ['0', '9'],
    ['A', 'F'],
    ['a', 'f'],
  ],
}

/** The set that starts at `start`, and its end; null when it is unterminated. */
function setAt(
  characters: readonly string[],
  start: number,
  { negators, isPosix }: Dialect,
): { token: Token; end: number } | null {
  const ranges: [string, string][] = []
  let at = start + 1
  const negated = at < characters.length && negators.includes(characters[at]!)
  if (negated) at += 1
  for (const first = at; at < characters.length; at += 1) {
    if (characters[at] === ']' && !(isPosix && at === first))
      return at === first ? null : { token: { is: 'set', negated, ranges }, end: at }
    const className = isPosix ? characterClassAt(characters, at) : null
    if (className) {
      ranges.push(...(characterClasses[className] ?? []))
      at += className.length + 3
      continue
    }
    const from = literalAt(characters, at)
    at = from.end
    const isRange = characters[at + 1] === '-' && at + 2 < characters.length && characters[at + 2] !== ']'
    const to = isRange ? literalAt(characters, at + 2) : from
    at = to.end
    ranges.push([from.character, to.character])
  }
  return null
}

function literalAt(characters: readonly string[], at: number): { character: string; end: number } {
  const end = characters[at] === '\\' && at + 1 < characters.length ? at + 1 : at
  return { character: characters[end]!, end }
}

function characterClassAt(characters: readonly string[], at: number): string | null {
  if (characters[at] !== '[' || characters[at + 1] !== ':') return null
  return /^\[:(\w{1,10}):\]/.exec(characters.slice(at, at + 16).join(''))?.[1] ?? null
}
