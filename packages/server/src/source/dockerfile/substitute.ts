/** A text with its variables substituted. */
export interface Substituted {
  text: string
  /** Every variable has a value or a default. */
  isKnown: boolean
}

/** Deeper than any real file, and shallow enough for the stack. */
const maxDepth = 10

/**
 * Docker's substitution: `$NAME`, `${NAME}`, and `:-` `-` `:+` `+` in braces. Output is limited to `maxLength`: a long value that
 * is referenced often could reach any size.
 */
export function substitute(text: string, values: ReadonlyMap<string, string>, maxLength: number): Substituted {
  const work: Work = { values, maxLength, isKnown: true }
  return { text: fill(text, work, 0), isKnown: work.isKnown }
}

interface Work {
  values: ReadonlyMap<string, string>
  maxLength: number
  isKnown: boolean
}

const name = /[A-Za-z_]\w*/y

function fill(text: string, work: Work, depth: number): string {
  let result = ''
  for (let at = 0; at < text.length && result.length < work.maxLength; ) {
    const dollar = text.indexOf('$', at)
    if (dollar < 0) return (result + text.slice(at)).slice(0, work.maxLength)
    result += text.slice(at, isEscaped(text, dollar, at) ? dollar - 1 : dollar)
    const piece = isEscaped(text, dollar, at) ? { end: dollar + 1, put: '$' } : pieceAt(text, dollar, work, depth)
    result += piece.put
    at = piece.end
  }
  return result.slice(0, work.maxLength)
}

const isEscaped = (text: string, dollar: number, from: number) => dollar > from && text[dollar - 1] === '\\'

function pieceAt(text: string, dollar: number, work: Work, depth: number): { end: number; put: string } {
  const isBraced = text[dollar + 1] === '{'
  name.lastIndex = dollar + (isBraced ? 2 : 1)
  const found = name.exec(text)?.[0]
  if (!isBraced) {
    if (found === undefined) return { end: dollar + 1, put: '$' }
    return { end: dollar + 1 + found.length, put: valueOfName(found, work) }
  }
  const end = closingBrace(text, dollar + 2)
  if (found === undefined || end === null || depth >= maxDepth) {
    work.isKnown = false
    return { end: end ?? text.length, put: '' }
  }
  const [, operator = '', word = ''] = /^(:?[-+])?([\s\S]*)$/.exec(text.slice(dollar + 2 + found.length, end - 1)) ?? []
  return { end, put: resolved(found, operator, word, work, depth) }
}

function resolved(found: string, operator: string, word: string, work: Work, depth: number): string {
  const value = work.values.get(found)
  // Docker distinguishes empty from unset without a colon; neither is useful in a port or image name.
  if (operator.endsWith('+')) return value ? fill(word, work, depth + 1) : ''
  if (value || operator === '') return valueOfName(found, work)
  return fill(word, work, depth + 1)
}

function valueOfName(found: string, work: Work): string {
  const value = work.values.get(found)
  if (!value) work.isKnown = false
  return value ?? ''
}

/** The offset after the brace that closes the one before `from`, or null. */
function closingBrace(text: string, from: number): number | null {
  let open = 1
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '$' && text[at + 1] === '{') open += 1
    else if (text[at] === '}' && --open === 0) return at + 1
  }
  return null
}
