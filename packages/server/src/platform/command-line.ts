/** The reason why a list of arguments cannot express the command. */
export interface NeedsShell {
  needsShell: string
}

/**
 * Splits a command that a user wrote ("npm run build -- --flag 'a b'") into arguments, with the quoting and escaping of a POSIX
 * shell. Syntax that needs a shell is reported, never executed: the command is untrusted and belongs in the project's sandbox.
 */
export function parseCommandLine(text: string): string[] | NeedsShell {
  const reader = new WordReader(text)
  const words = reader.words()
  if ('needsShell' in words) return words
  const [first] = words
  if (first === undefined) return []
  if (!reader.isFirstQuoted && assignment.test(first)) return { needsShell: 'it sets an environment variable before the command' }
  if (shellWords.has(first)) return { needsShell: `${first} is a shell keyword or builtin` }
  return words
}

/**
 * Splits a command into words by the quotes and escapes of a POSIX shell. No other character has a meaning: `;`, `|` and `$` are
 * part of their word. Reports a quote that is not closed.
 */
export function splitWords(text: string): string[] | { problem: string } {
  const words = new WordReader(text, { isLiteral: true }).words()
  return 'needsShell' in words ? { problem: words.needsShell } : words
}

const assignment = /^[A-Za-z_][A-Za-z0-9_]*=/

/** Reserved words, and built-in commands that no external program can replace. */
const shellWords = new Set(
  (
    '! { } . : case do done elif else esac fi for function if in select then time until while [[ ' +
    'alias bg break builtin cd command continue declare eval exec exit export fc fg getopts hash jobs let local popd pushd ' +
    'read readonly return set shift shopt source times trap type typeset ulimit umask unalias unset wait'
  ).split(' '),
)

const shellMeaning: Record<string, string | undefined> = {
  '|': 'it has a pipe',
  '&': 'it chains commands or runs one in the background',
  ';': 'it contains several commands',
  '\n': 'it contains several lines',
  '<': 'it redirects input',
  '>': 'it redirects output',
  '(': 'it has a subshell',
  ')': 'it has a subshell',
  $: 'it uses a variable or a substitution',
  '`': 'it uses a substitution',
  '*': 'it has a file pattern',
  '?': 'it has a file pattern',
  '[': 'it has a file pattern',
}

/** Characters that have a meaning only at the start of a word. */
const shellMeaningAtStart: Record<string, string | undefined> = {
  '#': 'it has a comment',
  '~': 'it refers to a home directory',
}

class WordReader {
  /** A quoted first word is no assignment: `"A=b" c` runs a program called A=b. */
  isFirstQuoted = false
  readonly #text: string
  /** Treats the shell's special characters as ordinary text. */
  readonly #isLiteral: boolean
  #at = 0
  #words: string[] = []
  #word: string | undefined

  constructor(text: string, { isLiteral = false } = {}) {
    this.#isLiteral = isLiteral
    this.#text = text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '')
  }

  words(): string[] | NeedsShell {
    while (this.#at < this.#text.length) {
      const reason = this.#next(this.#text[this.#at]!)
      if (reason) return { needsShell: reason }
    }
    this.#endWord()
    return this.#words
  }

  #next(character: string): string | undefined {
    if (character === ' ' || character === '\t' || (this.#isLiteral && /\s/.test(character))) return this.#skip()
    if (character === "'") return this.#singleQuoted()
    if (character === '"') return this.#doubleQuoted()
    if (character === '\\') return this.#escaped()
    const meaning = this.#isLiteral
      ? undefined
      : (shellMeaning[character] ?? (this.#word === undefined ? shellMeaningAtStart[character] : undefined))
    if (meaning) return meaning
    this.#add(character)
    this.#at += 1
  }

  #skip(): undefined {
    this.#endWord()
    this.#at += 1
  }

  #endWord(): void {
    if (this.#word !== undefined) this.#words.push(this.#word)
    this.#word = undefined
  }

  #add(text: string): void {
    this.#word = (this.#word ?? '') + text
  }

  #noteQuote(): void {
    if (this.#words.length === 0 && !this.#word?.includes('=')) this.isFirstQuoted = true
  }

  #singleQuoted(): string | undefined {
    const end = this.#text.indexOf("'", this.#at + 1)
    if (end === -1) return 'a quote is not closed'
    this.#noteQuote()
    this.#add(this.#text.slice(this.#at + 1, end))
    this.#at = end + 1
  }

  #doubleQuoted(): string | undefined {
    this.#noteQuote()
    this.#add('')
    for (let at = this.#at + 1; at < this.#text.length; at += 1) {
      const character = this.#text[at]!
      if (character === '"') {
        this.#at = at + 1
        return
      }
      if (!this.#isLiteral && (character === '$' || character === '`')) return shellMeaning[character]
      if (character !== '\\') this.#add(character)
      else this.#add(escapeInQuotes(this.#text[++at]))
    }
    return 'a quote is not closed'
  }

  #escaped(): string | undefined {
    const character = this.#text[this.#at + 1]
    if (character === undefined) return 'it ends with a backslash'
    if (character !== '\n') {
      this.#noteQuote()
      this.#add(character)
    }
    this.#at += 2
  }
}

/** A backslash inside double quotes escapes only characters that have a meaning there. */
function escapeInQuotes(character: string | undefined): string {
  if (character === '\n' || character === undefined) return ''
  return '$`"\\'.includes(character) ? character : `\\${character}`
}
