/** An instruction of a Dockerfile, including continuation lines. */
export interface Instruction {
  /** Upper case. */
  keyword: string
  /** The text after the keyword, without comments and line breaks. */
  rest: string
  /** Offsets in the text, without the trailing line break and here-documents. */
  start: number
  end: number
  hasHereDocuments: boolean
}

interface Line {
  text: string
  start: number
}

/** Parses instructions in one pass: joins continued lines, and skips comments and here-document bodies. */
export function* instructionsOf(text: string): Generator<Instruction> {
  const lines = linesOf(text)
  const escapeCharacter = escapeOf(lines)
  for (let at = 0; at < lines.length; at += 1) {
    const first = lines[at]!
    if (isEmptyOrComment(first.text)) continue
    const parts: string[] = []
    let last = first
    for (; at < lines.length; at += 1) {
      const { text: line } = lines[at]!
      if (parts.length > 0 && isEmptyOrComment(line)) continue
      last = lines[at]!
      const continued = withoutEscape(line, escapeCharacter)
      parts.push(continued ?? line)
      if (continued === null) break
    }
    const whole = parts.join('').trim()
    const space = whole.search(/\s/)
    const keyword = (space < 0 ? whole : whole.slice(0, space)).toUpperCase()
    const rest = space < 0 ? '' : whole.slice(space).trim()
    const ends = hereDocuments(keyword, rest)
    yield { keyword, rest, start: first.start, end: last.start + last.text.length, hasHereDocuments: ends.length > 0 }
    for (const end of ends) at = afterHereDocument(lines, at, end)
  }
}

/** The arguments, and the options before them: `--from=build`. */
export function splitInstruction(rest: string): { options: string[]; words: string[] } {
  const all = rest.split(/\s+/).filter((word) => word !== '')
  const first = all.findIndex((word) => !word.startsWith('--'))
  return first < 0 ? { options: all, words: [] } : { options: all.slice(0, first), words: all.slice(first) }
}

function linesOf(text: string): Line[] {
  let start = 0
  return text.split('\n').map((line) => {
    const found = { text: line.endsWith('\r') ? line.slice(0, -1) : line, start }
    start += line.length + 1
    return found
  })
}

/** The escape character. `# escape=` counts only among the directives at the top. */
function escapeOf(lines: readonly Line[]): string {
  for (const { text } of lines) {
    const directive = /^\s{0,100}#\s{0,100}(\w{1,40})\s{0,100}=\s{0,100}(\S{1,200})\s{0,100}$/.exec(text)
    if (!directive) break
    if (directive[1]!.toLowerCase() === 'escape' && directive[2] === '`') return '`'
  }
  return '\\'
}

function isEmptyOrComment(line: string): boolean {
  const text = line.trimStart()
  return text === '' || text.startsWith('#')
}

/** The line without its continuation character; null when it does not continue. An escaped one does not count. */
function withoutEscape(line: string, escapeCharacter: string): string | null {
  let end = line.length
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t')) end -= 1
  return line[end - 1] === escapeCharacter && line[end - 2] !== escapeCharacter ? line.slice(0, end - 1) : null
}

interface HereDocument {
  name: string
  isIndented: boolean
}

function hereDocuments(keyword: string, rest: string): HereDocument[] {
  if (!['RUN', 'COPY', 'ADD'].includes(keyword) || !rest.includes('<<')) return []
  return rest.split(/\s+/).flatMap((word) => {
    const found = /^\d{0,9}<<(-?)(?:"([^"<]{1,200})"|'([^'<]{1,200})'|([^<"']{1,200}))$/.exec(word)
    return found ? [{ name: (found[2] ?? found[3] ?? found[4])!, isIndented: found[1] === '-' }] : []
  })
}

function afterHereDocument(lines: readonly Line[], from: number, { name, isIndented }: HereDocument): number {
  for (let at = from + 1; at < lines.length; at += 1) {
    const { text } = lines[at]!
    if ((isIndented ? text.replace(/^\t+/, '') : text) === name) return at
  }
  return lines.length
}
