import { dig, recordOf, textOf } from '../values.ts'
import { RulesCollector } from './collect-rules.ts'
import { clip } from './rule-parts.ts'

const maxLines = 5_000

/** `[[redirects]]` and `[[headers]]` of netlify.toml. */
export function netlifyRules(toml: unknown): RulesCollector {
  const collector = new RulesCollector('netlify.toml')
  for (const entry of listOf(dig(toml, 'redirects'))) {
    const { from, to, status, force, ...others } = recordOf(entry)
    const [condition] = ['query', 'conditions', 'headers', 'signed'].filter((key) => others[key] !== undefined)
    if (condition) collector.ignore(`${clip(textOf(from) ?? '?')} depends on ${condition}, which is not supported`)
    else
      collector.redirect({
        from: textOf(from) ?? '',
        to: textOf(to) ?? textOf(from) ?? '',
        status: typeof status === 'number' ? status : 301,
        force: force === true,
      })
  }
  for (const entry of listOf(dig(toml, 'headers'))) {
    const { for: path, values } = recordOf(entry)
    const headers = Object.entries(recordOf(values)).map(([name, value]) => ({
      name,
      value: Array.isArray(value) ? value : [value],
    }))
    for (const { name } of headers.filter(({ value }) => !value.every(isPlain)))
      collector.ignore(`the header ${clip(name)} has a value that is not text`)
    const validHeaders = headers.filter(({ value }) => value.every(isPlain))
    collector.headers(
      textOf(path) ?? '',
      validHeaders.map(({ name, value }) => [name, value.join(', ')] as const),
    )
  }
  return collector
}

/** Parses `_redirects`: source, query conditions, target, status, conditions. */
export function redirectLines(text: string): RulesCollector {
  const collector = new RulesCollector('_redirects')
  for (const [, words] of wordLines(text)) {
    const [from = '', ...rest] = words
    const at = rest.findIndex((word) => word.startsWith('/') || /^https?:/i.test(word))
    const [to = '', statusText = '301', ...conditions] = at < 0 ? [] : rest.slice(at)
    const [, status] = /^(\d{3})!?$/.exec(statusText) ?? []
    if (at !== 0 || conditions.length > 0 || !status) collector.ignore(`${clip(words.join(' '))} is not supported`)
    else collector.redirect({ from, to, status: Number(status), force: statusText.endsWith('!') })
  }
  return collector
}

/** Parses `_headers`: a path, and its indented headers. */
export function headerLines(text: string): RulesCollector {
  const collector = new RulesCollector('_headers')
  let path: string | null = null
  let values: [string, string][] = []
  const close = () => {
    if (path !== null) collector.headers(path, values)
    values = []
  }
  for (const [line] of wordLines(text)) {
    if (!/^\s/.test(line)) {
      close()
      path = line.trim()
      continue
    }
    const at = line.indexOf(':')
    if (path === null || at < 0) collector.ignore(`${clip(line.trim())} is not supported`)
    else values.push([line.slice(0, at).trim(), line.slice(at + 1).trim()])
  }
  close()
  return collector
}

/** Each line with its words, without empty lines and comments. */
function wordLines(text: string): [line: string, words: string[]][] {
  const lines = text.split('\n', maxLines).map((line) => line.replace(/\r$/, ''))
  return lines.flatMap((line): [string, string[]][] => {
    const words = line.split(/[ \t]+/).filter(Boolean)
    const commentStart = words.findIndex((word) => word.startsWith('#'))
    const content = commentStart < 0 ? words : words.slice(0, commentStart)
    return content.length > 0 ? [[line, content]] : []
  })
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
/** A table is not a header value; converting it with `String` could call a method that the file defines. */
const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)
