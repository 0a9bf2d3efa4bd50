import { type Automaton, buildAutomaton } from './automaton.ts'
import { Secret } from './secret.ts'

export interface Scrubber {
  /**
   * Replaces the values from now on, also in their JSON and URL encodings. Values under 6 characters are ignored: they occur in
   * ordinary text.
   */
  register(...values: readonly (string | Secret | null | undefined)[]): void
  /** The text with every registered value replaced by `[secret]`; the cost depends on the text, hardly on the number of values. */
  scrub(text: string): string
  /** Scrubs one JSON document and keeps it valid JSON, even where a value is part of a number or spans quotes. */
  scrubJson(line: string): string
}

export interface ScrubberBounds {
  maxValues?: number
  maxCharacters?: number
}

/** Forgets the values that were registered the longest ago once a limit is exceeded; registering a value again keeps it. */
export function createScrubber({ maxValues = 20_000, maxCharacters = 1_000_000 }: ScrubberBounds = {}): Scrubber {
  const state = new ScrubberState(maxValues, maxCharacters)
  const scrub = (text: string) => replaceSpans(text, state.spansIn(text))
  return {
    register: (...values) => {
      for (const value of values) state.register(value instanceof Secret ? value.reveal() : (value ?? ''))
    },
    scrub,
    scrubJson: (line) => (scrub(line) === line ? line : scrubParsed(line, scrub)),
  }
}

export const minSecretLength = 6
/** Long values are searched in pieces, so that a value truncated in a log is still found, except for its last piece. */
export const pieceLength = 64

interface Tier {
  values: string[]
  automaton: Automaton
}

/**
 * Tiers grow like powers of two: a new value is added to a small automaton and rarely causes a large one to be rebuilt, while a
 * text is scanned by few automata.
 */
class ScrubberState {
  /** Number of characters in the patterns of each value, the value registered the longest ago first. */
  #costs = new Map<string, number>()
  #characters = 0
  #pendingValues: string[] = []
  #tiers: Tier[] = []
  readonly #maxValues: number
  readonly #maxCharacters: number

  constructor(maxValues: number, maxCharacters: number) {
    this.#maxValues = maxValues
    this.#maxCharacters = maxCharacters
  }

  register(value: string): void {
    if (value.length < minSecretLength) return
    const knownCost = this.#costs.get(value)
    if (knownCost !== undefined) {
      // Moves the value to the newest end of the map.
      this.#costs.delete(value)
      this.#costs.set(value, knownCost)
      return
    }
    const cost = patternsOf(value).reduce((sum, pattern) => sum + pattern.length, 0)
    this.#costs.set(value, cost)
    this.#characters += cost
    this.#pendingValues.push(value)
    this.#evictOldest()
  }

  spansIn(text: string): Span[] {
    if (text.length < minSecretLength || this.#costs.size === 0) return []
    this.#addPendingValues()
    const spans: Span[] = []
    for (const { automaton } of this.#tiers) automaton.scan(text, (start, end) => spans.push({ start, end }))
    return spans
  }

  #addPendingValues(): void {
    if (this.#pendingValues.length === 0) return
    let values = this.#pendingValues
    this.#pendingValues = []
    while (this.#tiers.length > 0 && this.#tiers.at(-1)!.values.length <= values.length * 2) {
      values = [...this.#tiers.pop()!.values, ...values]
    }
    values = values.filter((value) => this.#costs.has(value))
    this.#tiers.push({ values, automaton: buildAutomaton(values.flatMap(patternsOf)) })
  }

  /** Forgets a quarter at once and rebuilds everything: one by one, each new value would cost a whole rebuild. */
  #evictOldest(): void {
    if (this.#costs.size <= this.#maxValues && this.#characters <= this.#maxCharacters) return
    for (const [value, cost] of this.#costs) {
      if (this.#costs.size <= this.#maxValues * 0.75 && this.#characters <= this.#maxCharacters * 0.75) break
      this.#costs.delete(value)
      this.#characters -= cost
    }
    this.#pendingValues = [...this.#costs.keys()]
    this.#tiers = []
  }
}

/** The forms in which a value may appear in a log: as it is, inside JSON, inside a URL, and each of its longer lines. */
export function patternsOf(value: string): string[] {
  const lines = value.includes('\n') ? value.split(/\r?\n/).filter((line) => line.length >= 20) : []
  const forms = [value, JSON.stringify(value).slice(1, -1), ...lines]
  if (value.isWellFormed()) forms.push(encodeURIComponent(value))
  return [...new Set(forms)].flatMap(piecesOf)
}

function piecesOf(form: string): string[] {
  if (form.length <= pieceLength) return [form]
  const pieces: string[] = []
  for (let at = 0; at + pieceLength <= form.length; at += pieceLength) pieces.push(form.slice(at, at + pieceLength))
  if (form.length % pieceLength !== 0) pieces.push(form.slice(-pieceLength))
  return pieces
}

export interface Span {
  start: number
  end: number
}

export function replaceSpans(text: string, spans: Span[]): string {
  if (spans.length === 0) return text
  spans.sort((left, right) => left.start - right.start)
  let result = ''
  let copiedTo = 0
  let at = 0
  while (at < spans.length) {
    const { start } = spans[at]!
    let { end } = spans[at]!
    while (++at < spans.length && spans[at]!.start <= end) end = Math.max(end, spans[at]!.end)
    result += `${text.slice(copiedTo, start)}[secret]`
    copiedTo = end
  }
  return result + text.slice(copiedTo)
}

function scrubParsed(line: string, scrub: (text: string) => string): string {
  let document: unknown
  try {
    document = JSON.parse(line)
  } catch {
    return scrub(line)
  }
  return JSON.stringify(scrubDeep(document, scrub)) + (line.endsWith('\n') ? '\n' : '')
}

function scrubDeep(value: unknown, scrub: (text: string) => string): unknown {
  if (typeof value === 'string') return scrub(value)
  if (typeof value === 'number') return scrub(String(value)) === String(value) ? value : '[secret]'
  if (Array.isArray(value)) return value.map((item) => scrubDeep(item, scrub))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [scrub(key), scrubDeep(item, scrub)]))
}
