const newline = 10
/** Bytes searched at a time. V8 frees short-lived small strings at almost no cost, but not one large string per block. */
const pieceBytes = 16 * 1024

/** Returns the lines of a block that may contain all texts, in file order. */
export type TextSearch = (block: Buffer) => string[]

/**
 * A search for exact texts and for one text in any case. Null without a text. The block is searched as bytes, and only lines that
 * contain the first text are decoded; the caller decides whether they match.
 */
export function textSearch(exact: readonly string[], anyCase: string | undefined): TextSearch | null {
  const finders = [...(anyCase ? [finderInAnyCase(anyCase)] : []), ...exact.map(exactFinder)]
  const [first, ...others] = finders
  if (!first) return null
  return (block) => {
    // A block that lacks one of the texts holds no match.
    if (others.some((next) => next(block)(0) === -1)) return []
    return linesWith(block, first(block))
  }
}

/**
 * Prepares a block. Returns a function that finds the first byte offset of the text at or after a given offset, or -1. Callers must
 * pass rising offsets.
 */
type Finder = (block: Buffer) => (from: number) => number

function exactFinder(text: string): Finder {
  const bytes = Buffer.from(text)
  return (block) => (from) => block.indexOf(bytes, from)
}

/**
 * Text of ASCII characters is searched by an expression in the block as latin1, one character per byte. Other text is searched in
 * lower case, line by line, since lower case changes the number of bytes.
 */
function finderInAnyCase(text: string): Finder {
  if (!/^[\x20-\x7e]+$/.test(text)) return linewiseFinder(text.toLowerCase())
  const expression = new RegExp(expressionOf(text), 'gi')
  return (block) => {
    let [start, end, piece] = [0, 0, '']
    return (from) => {
      for (let at = from; at < block.length; at = end) {
        if (at >= end) {
          start = at
          end = Math.min(endOfLine(block, Math.min(at + pieceBytes, block.length)) + 1, block.length)
          piece = block.toString('latin1', start, end)
        }
        expression.lastIndex = at - start
        const found = expression.exec(piece)
        if (found) return start + found.index
      }
      return -1
    }
  }
}

/**
 * Two characters outside of ASCII have an ASCII letter in their lower case, and are matched by their UTF-8 bytes. The Kelvin sign
 * becomes k. The dotted capital I becomes i and a combining dot, which is not in the text: it can only match the text's last letter.
 */
function expressionOf(text: string): string {
  const literal = text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replace(/k/gi, '(?:k|\\xe2\\x84\\xaa)')
  return literal.replace(/i$/i, '(?:i|\\xc4\\xb0)')
}

function linewiseFinder(lowerCase: string): Finder {
  return (block) => {
    if (!block.toString('utf8').toLowerCase().includes(lowerCase)) return () => -1
    return (from) => {
      for (let start = from; start < block.length; ) {
        const end = endOfLine(block, start)
        if (block.toString('utf8', start, end).toLowerCase().includes(lowerCase)) return start
        start = end + 1
      }
      return -1
    }
  }
}

function linesWith(block: Buffer, next: (from: number) => number): string[] {
  const lines: string[] = []
  for (let at = next(0); at !== -1; ) {
    const start = at === 0 ? 0 : block.lastIndexOf(newline, at - 1) + 1
    const end = endOfLine(block, at)
    lines.push(block.toString('utf8', start, end))
    at = end < block.length ? next(end + 1) : -1
  }
  return lines
}

function endOfLine(block: Buffer, from: number): number {
  const end = block.indexOf(newline, from)
  return end === -1 ? block.length : end
}
