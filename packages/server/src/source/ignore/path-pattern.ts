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

/** Of the reading that is going on: there is one at a time, and a file may hold many thousands of patterns. */
const reading = {
  places: [] as number[],
  next: [] as number[],
  /** In which step a place was last noted, and last entered: who only stays in a place does not go on from it. */
  noted: new Float64Array(256),
  entered: new Float64Array(256),
  step: 0,
}

/**
 * Reads a path once from left to right with every place of the pattern that may come next at the same time, so no pattern
 * takes longer than its length times the path's: the patterns are strangers'.
 */
export class PathPattern {
  readonly #tokens: readonly Token[]
  readonly #start: string
  readonly #end: string
  readonly #isPlain: boolean

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
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
    if (reading.noted.length <= end) {
      reading.noted = new Float64Array(2 * end)
      reading.entered = new Float64Array(2 * end)
    }
    this.#begin()
    this.#enter(0)
    for (const character of path) {
      ;[reading.places, reading.next] = [reading.next, reading.places]
      if (orAbove && character === '/' && reading.places.includes(end)) return true
      if (reading.places.length === 0) return false
      this.#begin()
      for (const place of reading.places) if (place < end) this.#take(place, character)
    }
    return reading.next.includes(end)
  }

  #begin(): void {
    reading.next.length = 0
    reading.step += 1
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
    for (let at = place; reading.entered[at] !== reading.step; at += 1) {
      reading.entered[at] = reading.step
      this.#note(at)
      const is = this.#tokens[at]?.is
      if (is !== 'any' && is !== 'all' && is !== 'folders') return
    }
  }

  #note(place: number): void {
    if (reading.noted[place] === reading.step) return
    reading.noted[place] = reading.step
    reading.next.push(place)
  }
}

const textOf = (tokens: readonly Token[]) => tokens.map((token) => (token.is === 'character' ? token.character : '')).join('')

function covers(token: Token, character: string): boolean {
  if (token.is === 'character') return token.character === character
  if (character === '/') return false
  if (token.is === 'one') return true
  return token.is === 'set' && token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated
}
