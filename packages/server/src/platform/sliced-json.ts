import { setImmediate as yieldToOthers } from 'node:timers/promises'

/** V8 allocates values parsed from more than 100 KB in the old generation, where they are collected late. */
const sliceCharacters = 96 * 1024
/** Characters that are scanned before yielding to other work. */
const scanCharacters = 64 * 1024
const maxDepth = 32

/**
 * Parses a peer's JSON in slices and yields to other work in between: parsing several megabytes at once would delay every request.
 * Rejects with `SyntaxError`, as `JSON.parse` does. Of a list that is longer than a slice and than `maxItems`, the rest is not
 * parsed; at least `maxItems` items are kept.
 */
export async function parseInSlices(text: string, maxItems = Number.POSITIVE_INFINITY): Promise<unknown> {
  return new Slices(text, maxItems).value(0, text.length, 0)
}

class Slices {
  readonly #text: string
  readonly #maxItems: number
  #scanned = 0

  constructor(text: string, maxItems: number) {
    this.#text = text
    this.#maxItems = maxItems
  }

  async value(from: number, until: number, depth: number): Promise<unknown> {
    const [start, end] = this.#trimRange(from, until)
    const first = this.#text[start]
    const isLarge = end - start > sliceCharacters && (first === '[' || first === '{')
    if (!isLarge) return JSON.parse(this.#text.slice(start, end))
    if (depth === maxDepth || this.#text[end - 1] !== (first === '[' ? ']' : '}')) throw new SyntaxError('Not a JSON value')
    return first === '[' ? this.#array(start + 1, end - 1, depth) : this.#object(start + 1, end - 1, depth)
  }

  async #array(from: number, until: number, depth: number): Promise<unknown[]> {
    const values: unknown[] = []
    for await (const { start, end, isSmall } of this.#members(from, until)) {
      if (isSmall) for (const value of JSON.parse(`[${this.#text.slice(start, end)}]`)) values.push(value)
      else values.push(await this.value(start, end, depth + 1))
      if (values.length >= this.#maxItems) break
    }
    return values
  }

  async #object(from: number, until: number, depth: number): Promise<object> {
    const entries: [string, unknown][] = []
    for await (const { start, end, isSmall } of this.#members(from, until)) {
      if (isSmall) {
        for (const entry of Object.entries(JSON.parse(`{${this.#text.slice(start, end)}}`))) entries.push(entry)
        continue
      }
      const [keyStart] = this.#trimRange(start, end)
      if (this.#text[keyStart] !== '"') throw new SyntaxError('A key is not a string')
      const keyEnd = this.#endOfString(keyStart, end)
      const [colon] = this.#trimRange(keyEnd, end)
      if (this.#text[colon] !== ':') throw new SyntaxError('A key has no value')
      entries.push([JSON.parse(this.#text.slice(keyStart, keyEnd)), await this.value(colon + 1, end, depth + 1)])
    }
    return Object.fromEntries(entries)
  }

  /** Groups of members that fit into a slice together, and each larger member on its own. */
  async *#members(from: number, until: number): AsyncGenerator<{ start: number; end: number; isSmall: boolean }> {
    let start = from
    let lastComma = from - 1
    for await (const end of this.#commas(from, until)) {
      if (end - start > sliceCharacters && lastComma > start) {
        yield this.#member(start, lastComma, true)
        start = lastComma + 1
      }
      if (end - start > sliceCharacters || end === until) {
        yield this.#member(start, end, end - start <= sliceCharacters)
        start = end + 1
      }
      lastComma = end
    }
  }

  #member(start: number, end: number, isSmall: boolean) {
    const [first, last] = this.#trimRange(start, end)
    if (first === last) throw new SyntaxError('A member is missing')
    return { start, end, isSmall }
  }

  /** Positions of the commas between the members, and the end. */
  async *#commas(from: number, until: number): AsyncGenerator<number> {
    let open = 0
    for (let at = from; at < until; at += 1) {
      const code = this.#text.charCodeAt(at)
      if (code === quote) at = this.#endOfString(at, until) - 1
      else if (code === comma && open === 0) yield at
      else if (code === openBrace || code === openBracket) open += 1
      else if (code === closeBrace || code === closeBracket) open -= 1
      if (at - this.#scanned > scanCharacters || at < this.#scanned) {
        this.#scanned = at
        await yieldToOthers()
      }
    }
    yield until
  }

  #endOfString(start: number, until: number): number {
    for (let at = start + 1; at < until; ) {
      const end = this.#text.indexOf('"', at)
      if (end < 0 || end >= until) break
      let escapes = 0
      while (this.#text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1
      if (escapes % 2 === 0) return end + 1
      at = end + 1
    }
    throw new SyntaxError('A string does not end')
  }

  #trimRange(from: number, until: number): [start: number, end: number] {
    let [start, end] = [from, until]
    while (start < end && isSpace(this.#text.charCodeAt(start))) start += 1
    while (end > start && isSpace(this.#text.charCodeAt(end - 1))) end -= 1
    return [start, end]
  }
}

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]
const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
