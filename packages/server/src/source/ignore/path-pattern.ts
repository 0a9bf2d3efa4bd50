/** A pattern of an ignore file, whichever kind: both are made of these. */
export type Token =
  | { is: 'character'; character: string }
  /** One character of a name. */
  | { is: 'one' }
  /** Any characters of a name, also none. */
  | { is: 'any' }
  /** Any folders, each with its slash, also none. */
  | { is: 'folders' }
  /** Whatever comes. */
  | { is: 'all' }
  | { is: 'set'; negated: boolean; ranges: [string, string][] }

/**
 * Reads a path once from left to right with every place of the pattern that may come next at the same time, so no pattern
 * takes longer than its length times the path's: the patterns are strangers'.
 */
export class PathPattern {
  readonly #tokens: readonly Token[]
  readonly #start: string
  readonly #end: string
  #places: number[] = []
  #next: number[] = []
  /** In which step a place was last noted, and last entered: who only stays in a place does not go on from it. */
  readonly #noted: Int32Array
  readonly #entered: Int32Array
  readonly #isPlain: boolean
  #step = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
    this.#noted = new Int32Array(tokens.length + 1)
    this.#entered = new Int32Array(tokens.length + 1)
    this.#isPlain = tokens.every(({ is }) => is === 'character')
    const first = tokens.findIndex(({ is }) => is !== 'character')
    const last = tokens.findLastIndex(({ is }) => is !== 'character')
    this.#start = textOf(first < 0 ? tokens : tokens.slice(0, first))
    this.#end = textOf(tokens.slice(last + 1))
  }

  /** Whether it stands for the path; with `orAbove`, also for a folder above it. */
  matches(path: string, orAbove = false): boolean {
    if (!path.startsWith(this.#start) || (!orAbove && !path.endsWith(this.#end))) return false
    if (this.#isPlain) return path.length === this.#start.length || (orAbove && path[this.#start.length] === '/')
    return this.#read(path, orAbove)
  }

  #read(path: string, orAbove: boolean): boolean {
    const end = this.#tokens.length
    this.#begin()
    this.#enter(0)
    for (const character of path) {
      ;[this.#places, this.#next] = [this.#next, this.#places]
      if (orAbove && character === '/' && this.#places.includes(end)) return true
      if (this.#places.length === 0) return false
      this.#begin()
      for (const place of this.#places) if (place < end) this.#take(place, character)
    }
    return this.#next.includes(end)
  }

  #begin(): void {
    this.#next.length = 0
    this.#step += 1
  }

  #take(place: number, character: string): void {
    const token = this.#tokens[place]!
    if (token.is === 'any') {
      if (character !== '/') this.#enter(place)
    } else if (token.is === 'all') this.#enter(place)
    else if (token.is === 'folders') {
      // In the middle of a folder's name there is no way on: only its slash ends it.
      this.#note(place)
      if (character === '/') this.#enter(place + 1)
    } else if (covers(token, character)) this.#enter(place + 1)
  }

  /** A place, and those behind it that need no character. */
  #enter(place: number): void {
    for (let at = place; this.#entered[at] !== this.#step; at += 1) {
      this.#entered[at] = this.#step
      this.#note(at)
      const is = this.#tokens[at]?.is
      if (is !== 'any' && is !== 'all' && is !== 'folders') return
    }
  }

  #note(place: number): void {
    if (this.#noted[place] === this.#step) return
    this.#noted[place] = this.#step
    this.#next.push(place)
  }
}

const textOf = (tokens: readonly Token[]) => tokens.map((token) => (token.is === 'character' ? token.character : '')).join('')

function covers(token: Token, character: string): boolean {
  if (token.is === 'character') return token.character === character
  if (character === '/') return false
  if (token.is === 'one') return true
  return token.is === 'set' && token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated
}
