/** Splits a command line by shell quoting, as Compose does, without expansion. `null`: an unterminated quote. */
export function splitWords(line: string): string[] | null {
  const words: string[] = []
  let word: string | null = null
  let quote: '"' | "'" | null = null
  for (let at = 0; at < line.length; at++) {
    const char = line[at]!
    if (quote === "'") {
      if (char === "'") quote = null
      else word += char
    } else if (char === '\\') {
      const next = line[++at]
      if (next === undefined) return null
      // Inside double quotes a backslash escapes only special characters.
      word = (word ?? '') + (quote && !'"\\$`\n'.includes(next) ? `\\${next}` : next === '\n' ? '' : next)
    } else if (char === '"') {
      quote = quote ? null : '"'
      word ??= ''
    } else if (quote) word += char
    else if (char === "'") {
      quote = "'"
      word ??= ''
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word)
      word = null
    } else word = (word ?? '') + char
  }
  if (quote) return null
  if (word !== null) words.push(word)
  return words
}
