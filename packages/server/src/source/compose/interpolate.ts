export interface Interpolation {
  value: string
  /** Every variable that the text references, with or without a value. */
  referenced: string[]
  /** Variables without a value or default: each was replaced by an empty text. */
  unset: string[]
  missing: { variable: string; message: string }[]
  /** Invalid references, left as written. */
  malformed: string[]
}

/** Compose's interpolation: `$NAME`, `${NAME}`, `:-` `-` `:?` `?` `:+` `+` with nested defaults, and `$$` for a dollar. */
export function interpolate(text: string, env: Readonly<Record<string, string>>, maxLength = 1024 ** 2): Interpolation {
  const state: InterpolationState = { value: '', referenced: [], unset: [], missing: [], malformed: [], remaining: maxLength }
  if (!text.includes('$')) return { value: text, referenced: [], unset: [], missing: [], malformed: [] }
  const value = substitute(text, env, state, 0)
  const { referenced, unset, missing, malformed } = state
  return { value, referenced, unset, missing, malformed }
}

/** `remaining` limits the output: a long value that is referenced often could reach any size. */
interface InterpolationState extends Interpolation {
  remaining: number
}

function addValue(value: string, state: InterpolationState): string {
  state.remaining -= value.length
  if (state.remaining < 0) throw new Error('it is too large once its variables are filled in')
  return value
}

const plainName = /\$([A-Za-z_][A-Za-z0-9_]*)/y
const braced = /^([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-?+])([\s\S]*))?$/
/** Deeper than any real file, and shallow enough for the stack. */
const maxDepth = 10

function substitute(text: string, env: Readonly<Record<string, string>>, state: InterpolationState, depth: number): string {
  let result = ''
  let position = 0
  for (;;) {
    const dollar = text.indexOf('$', position)
    if (dollar < 0) return result + text.slice(position)
    result += text.slice(position, dollar)
    const reference = referenceAt(text, dollar)
    position = dollar + reference.length
    if (reference === '$$') result += '$'
    else if (reference.startsWith('${') && reference.endsWith('}')) result += resolve(reference, env, state, depth)
    else if (reference.length > 1 && reference[1] !== '{') result += plainValue(reference.slice(1), env, state)
    else {
      state.malformed.push(reference)
      result += reference
    }
  }
}

/** The reference that starts with the dollar at `start`. */
function referenceAt(text: string, start: number): string {
  if (text[start + 1] === '$') return '$$'
  if (text[start + 1] === '{') return text.slice(start, closingBrace(text, start + 2))
  plainName.lastIndex = start
  return plainName.exec(text)?.[0] ?? '$'
}

function closingBrace(text: string, from: number): number {
  let open = 1
  for (let at = from; at < text.length; at++) {
    if (text[at] === '$' && text[at + 1] === '{') open++
    if (text[at] === '}' && --open === 0) return at + 1
  }
  return text.length
}

function resolve(reference: string, env: Readonly<Record<string, string>>, state: InterpolationState, depth: number): string {
  const match = braced.exec(reference.slice(2, -1))
  if (!match || depth >= maxDepth) {
    state.malformed.push(reference)
    return reference
  }
  const [, name, operator, operand = ''] = match
  if (!operator) return plainValue(name!, env, state)
  state.referenced.push(name!)
  const value = Object.hasOwn(env, name!) ? env[name!] : undefined
  // With a colon, an empty value counts as unset.
  const isSet = operator.startsWith(':') ? Boolean(value) : value !== undefined
  if (operator.endsWith('+')) return isSet ? substitute(operand, env, state, depth + 1) : ''
  if (isSet) return addValue(value!, state)
  if (operator.endsWith('-')) return substitute(operand, env, state, depth + 1)
  state.missing.push({ variable: name!, message: substitute(operand, env, state, depth + 1) })
  return ''
}

function plainValue(name: string, env: Readonly<Record<string, string>>, state: InterpolationState): string {
  state.referenced.push(name)
  if (Object.hasOwn(env, name)) return addValue(env[name]!, state)
  state.unset.push(name)
  return ''
}
