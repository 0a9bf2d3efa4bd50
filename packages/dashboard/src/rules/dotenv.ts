/** Parses and writes `.env` text. Parsing the written text returns the same values. */

export interface Variable {
  key: string
  value: string
}

export interface Parsed {
  variables: Variable[]
  problems: string[]
}

const keyPattern = /^[A-Za-z_][A-Za-z0-9_]*$/

export function parseDotenv(text: string): Parsed {
  const variables = new Map<string, string>()
  const problems: string[] = []
  const pattern = /^[^\S\n]*(?:export[^\S\n]+)?([^=\s#][^=\n]*?)[^\S\n]*=[^\S\n]*("(?:\\[\s\S]|[^"\\])*"|'[^']*'|[^\n]*)[^\n]*$/gm
  const normalized = text.replace(/\r\n?/g, '\n')
  const parsedRanges: [number, number][] = []
  for (const match of normalized.matchAll(pattern)) {
    const [line, key = '', raw = ''] = match
    parsedRanges.push([match.index, match.index + line.length])
    if (!keyPattern.test(key))
      problems.push(`"${key}" is not a valid name: use letters, digits and _, and do not start with a digit`)
    else if (variables.has(key)) problems.push(`${key} is a duplicate`)
    else variables.set(key, unquoted(raw))
  }
  problems.push(...invalidLines(normalized, parsedRanges))
  return { variables: [...variables].map(([key, value]) => ({ key, value })), problems }
}

function unquoted(raw: string): string {
  if (raw.startsWith('"'))
    return raw.slice(1, -1).replace(/\\([\s\S])/g, (_, character: string) => escapes[character] ?? `\\${character}`)
  if (raw.startsWith("'")) return raw.slice(1, -1)
  return raw.replace(/\s+#.*$/, '').trimEnd()
}

const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' }

function invalidLines(text: string, parsedRanges: readonly [number, number][]): string[] {
  let at = 0
  return text.split('\n').flatMap((line, index) => {
    const start = at
    at += line.length + 1
    const isParsed = parsedRanges.some(([from, to]) => start < to && start + line.length >= from)
    if (isParsed || line.trim() === '' || line.trim().startsWith('#')) return []
    return [`Line ${index + 1} is not NAME=value`]
  })
}

export const formatDotenv = (variables: readonly Variable[]): string =>
  variables.map(({ key, value }) => `${key}=${quoted(value)}\n`).join('')

const quoted = (value: string) =>
  /^[\w./:@%+,=-]*$/.test(value)
    ? value
    : `"${value.replace(/[\\"\n\r]/g, (character) => ({ '\\': '\\\\', '"': '\\"', '\n': '\\n', '\r': '\\r' })[character] ?? character)}"`
