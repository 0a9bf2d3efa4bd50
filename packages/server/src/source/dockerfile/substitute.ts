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
  const state: SubstitutionState = { values, maxLength, isKnown: true }
  return { text: substituteAll(text, state, 0), isKnown: state.isKnown }
}

interface SubstitutionState {
  values: ReadonlyMap<string, string>
  maxLength: number
  isKnown: boolean
}

const name = /[A-Za-z_]\w*/y

function substituteAll(text: string, state: SubstitutionState, depth: number): string {
  let result = ''
  for (let at = 0; at < text.length && result.length < state.maxLength; ) {
    const dollar = text.indexOf('$', at)
    if (dollar < 0) return (result + text.slice(at)).slice(0, state.maxLength)
    result += text.slice(at, isEscaped(text, dollar, at) ? dollar - 1 : dollar)
    const reference = isEscaped(text, dollar, at)
      ? { end: dollar + 1, replacement: '$' }
      : referenceAt(text, dollar, state, depth)
    result += reference.replacement
    at = reference.end
  }
  return result.slice(0, state.maxLength)
}

const isEscaped = (text: string, dollar: number, from: number) => dollar > from && text[dollar - 1] === '\\'

function referenceAt(
  text: string,
  dollar: number,
  state: SubstitutionState,
  depth: number,
): { end: number; replacement: string } {
  const isBraced = text[dollar + 1] === '{'
  name.lastIndex = dollar + (isBraced ? 2 : 1)
  const found = name.exec(text)?.[0]
  if (!isBraced) {
    if (found === undefined) return { end: dollar + 1, replacement: '$' }
    return { end: dollar + 1 + found.length, replacement: valueOfName(found, state) }
  }
  const end = closingBrace(text, dollar + 2)
  if (found === undefined || end === null || depth >= maxDepth) {
    state.isKnown = false
    return { end: end ?? text.length, replacement: '' }
  }
  const [, operator = '', operand = ''] = /^(:?[-+])?([\s\S]*)$/.exec(text.slice(dollar + 2 + found.length, end - 1)) ?? []
  return { end, replacement: resolveReference(found, operator, operand, state, depth) }
}

function resolveReference(found: string, operator: string, operand: string, state: SubstitutionState, depth: number): string {
  const value = state.values.get(found)
  // Docker distinguishes empty from unset without a colon; neither is useful in a port or image name.
  if (operator.endsWith('+')) return value ? substituteAll(operand, state, depth + 1) : ''
  if (value || operator === '') return valueOfName(found, state)
  return substituteAll(operand, state, depth + 1)
}

function valueOfName(found: string, state: SubstitutionState): string {
  const value = state.values.get(found)
  if (!value) state.isKnown = false
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
