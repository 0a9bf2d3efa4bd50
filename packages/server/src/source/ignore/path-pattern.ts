/** A token of a pattern, for both kinds of ignore file. */
export type Token =
  | { is: 'character'; character: string }
  /** A single character of a name. */
  | { is: 'one' }
  /** Any characters of a name, also none. */
  | { is: 'any' }
  /** Any folders, each with its slash, also none. */
  | { is: 'folders' }
  /** Any characters, including slashes. */
  | { is: 'all' }
  | { is: 'set'; negated: boolean; ranges: [string, string][] }

/** The state of matching a path: the positions in the pattern that may come next. */
class Reading {
  locations: number[] = []
  next: number[] = []
  /** The step in which a position was last noted, and last entered. A position that was only noted is not advanced from. */
  noted: Float64Array
  entered: Float64Array
  step = 0

  constructor(locations: number) {
    this.noted = new Float64Array(locations)
    this.entered = new Float64Array(locations)
  }

  hasRoomFor(locations: number): void {
    if (this.noted.length >= locations) return
    this.noted = new Float64Array(2 * locations)
    this.entered = new Float64Array(2 * locations)
  }
}

/** Shared state for matching without a pause: only one runs at a time, and a file may have thousands of patterns. */
const shared = new Reading(256)
/** Number of characters that are matched without a pause. */
const slice = 64

/**
 * Matches a path against all possible pattern positions at once, from left to right. The cost is at most pattern length times path
 * length: the patterns are untrusted.
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

  /** Whether the pattern matches the path; with `orAbove`, also a parent folder. */
  matches(path: string, orAbove = false): boolean {
    if (!path.startsWith(this.#start) || (!orAbove && !path.endsWith(this.#end))) return false
    if (this.#isPlain) return path.length === this.#start.length || (orAbove && path[this.#start.length] === '/')
    return this.#read(path, orAbove)
  }

  /** Depths of the parent folders, and of the path itself, that the pattern matches. One pass, which yields in a long path. */
  *matchedDepths(path: string): Generator<void, number[]> {
    const found: number[] = []
    if (!path.startsWith(this.#start) || !path.includes(this.#end)) return found
    const end = this.#tokens.length
    const reading = this.#beginReading(path.length < slice ? shared : new Reading(end + 1))
    let depth = 0
    let read = 0
    for (const character of path) {
      if (++read % slice === 0) yield
      ;[reading.locations, reading.next] = [reading.next, reading.locations]
      if (character === '/') {
        if (reading.locations.includes(end)) found.push(depth)
        depth += 1
      }
      if (reading.locations.length === 0) return found
      this.#begin(reading)
      for (const position of reading.locations) if (position < end) this.#take(reading, position, character)
    }
    if (reading.next.includes(end)) found.push(depth)
    return found
  }

  #read(path: string, orAbove: boolean): boolean {
    const end = this.#tokens.length
    const reading = this.#beginReading(shared)
    for (const character of path) {
      ;[reading.locations, reading.next] = [reading.next, reading.locations]
      if (orAbove && character === '/' && reading.locations.includes(end)) return true
      if (reading.locations.length === 0) return false
      this.#begin(reading)
      for (const position of reading.locations) if (position < end) this.#take(reading, position, character)
    }
    return reading.next.includes(end)
  }

  #beginReading(reading: Reading): Reading {
    reading.hasRoomFor(this.#tokens.length + 1)
    this.#begin(reading)
    this.#enter(reading, 0)
    return reading
  }

  #begin(reading: Reading): void {
    reading.next.length = 0
    reading.step += 1
  }

  #take(reading: Reading, position: number, character: string): void {
    const token = this.#tokens[position]!
    if (token.is === 'any') {
      if (character !== '/') this.#enter(reading, position)
    } else if (token.is === 'all') this.#enter(reading, position)
    else if (token.is === 'folders') {
      // Inside a folder's name the match cannot advance: only a slash ends it.
      this.#note(reading, position)
      if (character === '/') this.#enter(reading, position + 1)
    } else if (covers(token, character)) this.#enter(reading, position + 1)
  }

  /** Enters a position, and the following ones that need no character. */
  #enter(reading: Reading, position: number): void {
    for (let at = position; reading.entered[at] !== reading.step; at += 1) {
      reading.entered[at] = reading.step
      this.#note(reading, at)
      const is = this.#tokens[at]?.is
      if (is !== 'any' && is !== 'all' && is !== 'folders') return
    }
  }

  #note(reading: Reading, position: number): void {
    if (reading.noted[position] === reading.step) return
    reading.noted[position] = reading.step
    reading.next.push(position)
  }
}

const textOf = (tokens: readonly Token[]) => tokens.map((token) => (token.is === 'character' ? token.character : '')).join('')

function covers(token: Token, character: string): boolean {
  if (token.is === 'character') return token.character === character
  if (character === '/') return false
  if (token.is === 'one') return true
  return token.is === 'set' && token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated
}
