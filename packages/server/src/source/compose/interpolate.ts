export interface Interpolation {
  value: string
  /** Every variable that the text references, with or without a value. */
  named: string[]
  /** Variables without a value or default: each was replaced by an empty text. */
  unset: string[]
  missing: { variable: string; message: string }[]
  /** Invalid references, left as written. */
  malformed: string[]
}

/** Compose's interpolation: `$NAME`, `${NAME}`, `:-` `-` `:?` `?` `:+` `+` with nested defaults, and `$$` for a dollar. */
export function interpolate(text: string, env: Readonly<Record<string, string>>, maxLength = 1024 ** 2): Interpolation {
  const found: Work = { value: '', named: [], unset: [], missing: [], malformed: [], left: maxLength }
  if (!text.includes('$')) return { value: text, named: [], unset: [], missing: [], malformed: [] }
  const value = substitute(text, env, found, 0)
  const { named, unset, missing, malformed } = found
  return { value, named, unset, missing, malformed }
}

/** `left` limits the output: a long value that is referenced often could reach any size. */
interface Work extends Interpolation {
  left: number
}

function take(value: string, found: Work): string {
  found.left -= value.length
  if (found.left < 0) throw new Error('it is too large once its variables are filled in')
  return value
}

const plainName = /\$([A-Za-z_][A-Za-z0-9_]*)/y
const braced = /^([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-?+])([\s\S]*))?$/
/** Deeper than any real file, and shallow enough for the stack. */
const maxDepth = 10

function substitute(text: string, env: Readonly<Record<string, string>>, found: Work, depth: number): string {
  let result = ''
  let position = 0
  for (;;) {
    const dollar = text.indexOf('$', position)
    if (dollar < 0) return result + text.slice(position)
    result += text.slice(position, dollar)
    const piece = pieceAt(text, dollar)
    position = dollar + piece.length
    if (piece === '$$') result += '$'
    else if (piece.startsWith('${') && piece.endsWith('}')) result += resolve(piece, env, found, depth)
    else if (piece.length > 1 && piece[1] !== '{') result += plainValue(piece.slice(1), env, found)
    else {
      found.malformed.push(piece)
      result += piece
    }
  }
}

/** The reference that starts with the dollar at `start`. */
function pieceAt(text: string, start: number): string {
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

function resolve(piece: string, env: Readonly<Record<string, string>>, found: Work, depth: number): string {
  const match = braced.exec(piece.slice(2, -1))
  if (!match || depth >= maxDepth) {
    found.malformed.push(piece)
    return piece
  }
  const [, name, operator, word = ''] = match
  if (!operator) return plainValue(name!, env, found)
  found.named.push(name!)
  const value = Object.hasOwn(env, name!) ? env[name!] : undefined
  // With a colon, an empty value counts as unset.
  const given = operator.startsWith(':') ? Boolean(value) : value !== undefined
  if (operator.endsWith('+')) return given ? substitute(word, env, found, depth + 1) : ''
  if (given) return take(value!, found)
  if (operator.endsWith('-')) return substitute(word, env, found, depth + 1)
  found.missing.push({ variable: name!, message: substitute(word, env, found, depth + 1) })
  return ''
}

function plainValue(name: string, env: Readonly<Record<string, string>>, found: Work): string {
  found.named.push(name)
  if (Object.hasOwn(env, name)) return take(env[name]!, found)
  found.unset.push(name)
  return ''
}
