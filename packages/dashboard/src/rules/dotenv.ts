/** `.env` text as people paste it, and variables as such text: what is written is read back byte for byte. */

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
  const withoutValues = text.replace(/\r\n?/g, '\n')
  const seen: [number, number][] = []
  for (const match of withoutValues.matchAll(pattern)) {
    const [line, key = '', raw = ''] = match
    seen.push([match.index, match.index + line.length])
    if (!keyPattern.test(key))
      problems.push(`"${key}" is not a valid name: use letters, digits and _, and do not start with a digit`)
    else if (variables.has(key)) problems.push(`${key} is a duplicate`)
    else variables.set(key, unquoted(raw))
  }
  problems.push(...strayLines(withoutValues, seen))
  return { variables: [...variables].map(([key, value]) => ({ key, value })), problems }
}

function unquoted(raw: string): string {
  if (raw.startsWith('"')) return raw.slice(1, -1).replace(/\\([\s\S])/g, (_, sign: string) => escapes[sign] ?? `\\${sign}`)
  if (raw.startsWith("'")) return raw.slice(1, -1)
  return raw.replace(/\s+#.*$/, '').trimEnd()
}

const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' }

function strayLines(text: string, seen: readonly [number, number][]): string[] {
  let at = 0
  return text.split('\n').flatMap((line, index) => {
    const start = at
    at += line.length + 1
    const isRead = seen.some(([from, to]) => start < to && start + line.length >= from)
    if (isRead || line.trim() === '' || line.trim().startsWith('#')) return []
    return [`Line ${index + 1} is not NAME=value`]
  })
}

export const formatDotenv = (variables: readonly Variable[]): string =>
  variables.map(({ key, value }) => `${key}=${quoted(value)}\n`).join('')

const quoted = (value: string) =>
  /^[\w./:@%+,=-]*$/.test(value)
    ? value
    : `"${value.replace(/[\\"\n\r]/g, (sign) => ({ '\\': '\\\\', '"': '\\"', '\n': '\\n', '\r': '\\r' })[sign] ?? sign)}"`
