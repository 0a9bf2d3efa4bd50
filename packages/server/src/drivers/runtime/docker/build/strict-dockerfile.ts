/** Berth refuses to build the Dockerfile. The message is for its author. */
export class DockerfileRefused extends Error {
  override readonly name = 'DockerfileRefused'
}

/** An instruction as the builder will read it, with its lines, without its here-documents. */
export interface StrictInstruction {
  keyword: string
  /** Options (`--name=value`) before the other words. */
  flags: string[]
  rest: string
  first: number
  last: number
  hasHeredoc: boolean
}

export interface StrictDockerfile {
  lines: string[]
  instructions: StrictInstruction[]
  escapeSign: string
}

const keywords = new Set(
  'FROM RUN CMD LABEL MAINTAINER EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL'.split(
    ' ',
  ),
)
/** Size limit, because the Dockerfile is parsed on the main thread. Most are a hundredth of it. */
export const maxDockerfile = 256 * 1024
const maxInstructions = 2_000
/** Limit of an expanded value: one that refers to itself twice doubles with each expansion. */
const maxWordLength = 16_384
/** Instructions whose options can refer to things outside of the project. */
const keywordsWithFlags = new Set(['FROM', 'RUN', 'ADD', 'COPY'])

/**
 * Parses a Dockerfile for validation. Text that builders interpret differently is refused instead of guessed: the validated
 * instructions must be those that the builder runs.
 */
export function parseStrictly(text: string): StrictDockerfile {
  if (text.length > maxDockerfile) throw new DockerfileRefused(`it is larger than ${maxDockerfile / 1024} KiB`)
  const lines = text
    .replace(/^\ufeff/, '')
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
  const escapeSign = escapeSignOf(lines)
  const instructions: StrictInstruction[] = []
  for (let at = 0; at < lines.length; at += 1) {
    if (isBlankOrComment(lines[at]!)) continue
    const first = at
    let whole = ''
    for (; at < lines.length; at += 1) {
      if (whole !== '' && isBlankOrComment(lines[at]!)) continue
      const { text: part, isContinued } = splitContinuation(lines[at]!, escapeSign, at)
      whole += part
      if (!isContinued) break
    }
    if (instructions.length === maxInstructions) throw new DockerfileRefused(`it has more than ${maxInstructions} instructions`)
    const instruction = {
      ...instructionOf(whole, first, escapeSign),
      first,
      last: Math.min(at, lines.length - 1),
      hasHeredoc: false,
    }
    for (const end of heredocs(instruction)) {
      instruction.hasHeredoc = true
      do at += 1
      while (at < lines.length && (end.isIndented ? lines[at]!.replace(/^\t+/, '') : lines[at]) !== end.name)
    }
    instructions.push(instruction)
  }
  return { lines, instructions, escapeSign }
}

const isBlankOrComment = (line: string) => /^\s*(#|$)/.test(line)

/** Returns the escape character. Refuses a `# syntax=` frontend other than Docker's: it could request anything of the engine. */
function escapeSignOf(lines: readonly string[]): string {
  let escapeSign = '\\'
  let isInDirectives = true
  for (const line of lines) {
    if (!isBlankOrComment(line)) break
    const [, name = '', value = ''] = /^\s*#\s*([a-z]+)\s*=\s*(.+)$/i.exec(line.trimEnd()) ?? []
    const directive = name.toLowerCase()
    if (
      directive === 'syntax' &&
      !/^(docker\.io\/)?docker\/dockerfile(-upstream)?(:[\w.-]+)?(@sha256:[0-9a-f]{64})?$/.test(value)
    )
      throw new DockerfileRefused(`"# syntax=${value.slice(0, 100)}" is not supported. Use docker/dockerfile`)
    if (directive === 'escape' && value === '`') {
      if (!isInDirectives) throw new DockerfileRefused('"# escape=`" must be the first line')
      escapeSign = '`'
    }
    isInDirectives &&= ['syntax', 'escape', 'check'].includes(directive)
  }
  return escapeSign
}

function splitContinuation(line: string, escapeSign: string, at: number): { text: string; isContinued: boolean } {
  let length = line.length
  while (line[length - 1] === ' ' || line[length - 1] === '\t') length -= 1
  const end = line.slice(0, length)
  if (!end.endsWith(escapeSign)) return { text: line, isContinued: false }
  if (end.endsWith(escapeSign + escapeSign))
    throw new DockerfileRefused(`line ${at + 1} ends with two "${escapeSign}", which builders interpret differently. Remove one`)
  return { text: end.slice(0, -1), isContinued: true }
}

export function instructionOf(whole: string, first: number, escapeSign: string) {
  const [, word = '', after = ''] = /^\s*([A-Za-z]+)(?:[\t\v\f\r ]+([\s\S]*))?$/.exec(whole) ?? []
  const keyword = word.toUpperCase()
  if (!keywords.has(keyword)) throw new DockerfileRefused(`line ${first + 1} is not an instruction`)
  const flags: string[] = []
  let rest = after.trim()
  while (keywordsWithFlags.has(keyword) && rest.startsWith('--')) {
    const [flag = ''] = rest.split(/[\t\v\f\r ]+/, 1)
    if (/["']/.test(flag) || flag.includes(escapeSign) || flag.includes('\\'))
      throw new DockerfileRefused(`line ${first + 1}: write the option ${flag.slice(0, 60)} without quotes and escapes`)
    flags.push(flag)
    rest = rest.slice(flag.length).trimStart()
  }
  return { keyword, flags, rest }
}

/** Finds here-documents. Stops at quotes and escapes: doubtful text is parsed as instructions. */
function heredocs({ keyword, rest }: { keyword: string; rest: string }): { name: string; isIndented: boolean }[] {
  if (!['RUN', 'COPY', 'ADD'].includes(keyword) || rest.startsWith('[')) return []
  const found: { name: string; isIndented: boolean }[] = []
  for (const word of rest.split(/[\t\v\f\r ]+/)) {
    const [, dash, , name] = /^\d*<<(-?)(["']?)(\w+)\2$/.exec(word) ?? []
    if (name !== undefined) found.push({ name, isIndented: dash === '-' })
    else if (/["'\\`]/.test(word)) break
  }
  return found
}

/**
 * Expands quotes, escapes and variables as Docker does. Null if a variable is unknown before the build, or if the result is
 * too long.
 */
export function expandWord(word: string, values: ReadonlyMap<string, string>, escapeSign: string): string | null {
  let out = ''
  let quote = ''
  for (let at = 0; at < word.length; at += 1) {
    const character = word[at]!
    if (out.length > maxWordLength) return null
    if (quote === "'" && character !== "'") out += character
    else if (character === quote) quote = ''
    else if (quote === '' && (character === '"' || character === "'")) quote = character
    else if (character === escapeSign) out += word[++at] ?? ''
    else if (character === '$') {
      const [whole, braced, operator, alternative, bare] =
        /^\$(?:\{([A-Za-z_]\w*)(?:(:?[-+])([^{}$"'\\`]*))?\}|([A-Za-z_]\w*))/.exec(word.slice(at)) ?? []
      if (whole === undefined) return null
      const expanded = expandedValue(values.get(braced ?? bare ?? ''), operator, alternative)
      if (expanded === undefined) return null
      out += expanded
      at += whole.length - 1
    } else out += character
  }
  return quote === '' && out.length <= maxWordLength ? out : null
}

/** Value of `$NAME`, `${NAME:-alternative}` or `${NAME:+alternative}`. An empty value counts as unset. */
function expandedValue(
  value: string | undefined,
  operator: string | undefined,
  alternative: string | undefined,
): string | undefined {
  if (operator?.endsWith('+')) return value ? alternative : ''
  if (value) return value
  return operator ? alternative : undefined
}

/** Words of ADD, COPY and FROM: a JSON list, or split at spaces. */
export function wordsIn(rest: string): { words: string[]; isJson: boolean } {
  if (rest.startsWith('['))
    try {
      const list: unknown = JSON.parse(rest)
      if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return { words: list, isJson: true }
    } catch {
      // Invalid JSON is read as plain words, as the builder does.
    }
  return { words: rest.split(/[\t\v\f\r ]+/).filter((word) => word !== ''), isJson: false }
}
