/** Removes comments from source text, so that a word in a comment is not evidence. Each function takes linear time. */

/** Removes C-style line and block comments; strings are kept. */
export const stripComments = (text: string): string =>
  rewrite(text, /["'`/]/g, (at) => {
    if (text[at] !== '/') return null
    if (text[at + 1] === '/') return { end: endOfLine(text, at), replacement: '' }
    if (text[at + 1] !== '*') return { end: at + 1, replacement: '/' }
    const end = text.indexOf('*/', at + 2)
    return { end: end < 0 ? text.length : end + 2, replacement: '' }
  })

/** Removes `#` comments, as in Python, Ruby, Elixir and Dockerfiles. */
export const stripHashComments = (text: string): string =>
  rewrite(text, /["'#]/g, (at) => (text[at] === '#' ? { end: endOfLine(text, at), replacement: '' } : null))

/** Removes the comma before a closing bracket in JSON. */
export const stripTrailingCommas = (text: string): string =>
  rewrite(text, /[",]/g, (at) => {
    if (text[at] !== ',') return null
    let next = at + 1
    while (next < text.length && /\s/.test(text[next]!)) next++
    return { end: next, replacement: text[next] === '}' || text[next] === ']' ? '' : text.slice(at, next) }
  })

/** Calls `replace` at each marker. A marker for which it returns null opens a string, which is copied. */
function rewrite(text: string, markers: RegExp, replace: (at: number) => { end: number; replacement: string } | null): string {
  let result = ''
  let from = 0
  for (;;) {
    markers.lastIndex = from
    const at = markers.exec(text)?.index ?? text.length
    result += text.slice(from, at)
    if (at === text.length) return result
    const replaced = replace(at)
    const end = replaced ? replaced.end : endOfString(text, at)
    result += replaced ? replaced.replacement : text.slice(at, end)
    from = end
  }
}

function endOfString(text: string, start: number): number {
  const quote = text[start]!
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === quote) return at + 1
    // An unterminated string is an apostrophe in other text.
    else if (text[at] === '\n' && quote !== '`') return at
  }
  return text.length
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}
