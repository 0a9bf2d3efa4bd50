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
class MatchState {
  positions: number[] = []
  next: number[] = []
  /** The last step in which a position was added to `next`. */
  added: Float64Array
  /** The last step in which a position was added together with the following ones that need no character. */
  entered: Float64Array
  step = 0

  constructor(positions: number) {
    this.added = new Float64Array(positions)
    this.entered = new Float64Array(positions)
  }

  ensureCapacity(positions: number): void {
    if (this.added.length >= positions) return
    this.added = new Float64Array(2 * positions)
    this.entered = new Float64Array(2 * positions)
  }
}

/** Shared state for matching without a pause: only one runs at a time, and a file may have thousands of patterns. */
const shared = new MatchState(256)
/** Number of characters that are matched without a pause. */
const charactersPerSlice = 64

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

  /** Whether the pattern matches the path; with `orParent`, also a parent folder. */
  matches(path: string, orParent = false): boolean {
    if (!path.startsWith(this.#start) || (!orParent && !path.endsWith(this.#end))) return false
    if (this.#isPlain) return path.length === this.#start.length || (orParent && path[this.#start.length] === '/')
    return this.#read(path, orParent)
  }

  /** Depths of the parent folders, and of the path itself, that the pattern matches. One pass, which yields in a long path. */
  *matchedDepths(path: string): Generator<void, number[]> {
    const found: number[] = []
    if (!path.startsWith(this.#start) || !path.includes(this.#end)) return found
    const end = this.#tokens.length
    const state = this.#startMatching(path.length < charactersPerSlice ? shared : new MatchState(end + 1))
    let depth = 0
    let read = 0
    for (const character of path) {
      if (++read % charactersPerSlice === 0) yield
      ;[state.positions, state.next] = [state.next, state.positions]
      if (character === '/') {
        if (state.positions.includes(end)) found.push(depth)
        depth += 1
      }
      if (state.positions.length === 0) return found
      this.#nextStep(state)
      for (const position of state.positions) if (position < end) this.#advance(state, position, character)
    }
    if (state.next.includes(end)) found.push(depth)
    return found
  }

  #read(path: string, orParent: boolean): boolean {
    const end = this.#tokens.length
    const state = this.#startMatching(shared)
    for (const character of path) {
      ;[state.positions, state.next] = [state.next, state.positions]
      if (orParent && character === '/' && state.positions.includes(end)) return true
      if (state.positions.length === 0) return false
      this.#nextStep(state)
      for (const position of state.positions) if (position < end) this.#advance(state, position, character)
    }
    return state.next.includes(end)
  }

  #startMatching(state: MatchState): MatchState {
    state.ensureCapacity(this.#tokens.length + 1)
    this.#nextStep(state)
    this.#enter(state, 0)
    return state
  }

  #nextStep(state: MatchState): void {
    state.next.length = 0
    state.step += 1
  }

  #advance(state: MatchState, position: number, character: string): void {
    const token = this.#tokens[position]!
    if (token.is === 'any') {
      if (character !== '/') this.#enter(state, position)
    } else if (token.is === 'all') this.#enter(state, position)
    else if (token.is === 'folders') {
      // Inside a folder's name the match cannot advance: only a slash ends it.
      this.#add(state, position)
      if (character === '/') this.#enter(state, position + 1)
    } else if (matchesToken(token, character)) this.#enter(state, position + 1)
  }

  /** Enters a position, and the following ones that need no character. */
  #enter(state: MatchState, position: number): void {
    for (let at = position; state.entered[at] !== state.step; at += 1) {
      state.entered[at] = state.step
      this.#add(state, at)
      const is = this.#tokens[at]?.is
      if (is !== 'any' && is !== 'all' && is !== 'folders') return
    }
  }

  #add(state: MatchState, position: number): void {
    if (state.added[position] === state.step) return
    state.added[position] = state.step
    state.next.push(position)
  }
}

const textOf = (tokens: readonly Token[]) => tokens.map((token) => (token.is === 'character' ? token.character : '')).join('')

function matchesToken(token: Token, character: string): boolean {
  if (token.is === 'character') return token.character === character
  if (character === '/') return false
  if (token.is === 'one') return true
  return token.is === 'set' && token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated
}
