import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml'
import { checkExpandedSize } from './expanded-size.ts'
import { interpolate } from './interpolate.ts'
import { type Location, refuse, warn, within } from './location.ts'
import { isMapping } from './values.ts'

/** Several times the largest known file; the parser's worst cases stay below a second. */
const maxBytes = 128 * 1024
const maxAliases = 500
const maxNodes = 50_000
const maxDepth = 50
/** Maximum total length of all texts after interpolation. */
const maxLength = 2 * 1024 ** 2

/** Parses a file to plain values with interpolated variables; `null` with a refusal when it cannot be parsed. */
export function parseFile(text: string, root: Location, path?: string): Record<string, unknown> | null {
  if (Buffer.byteLength(text) > maxBytes) return refuseFile(root, `is larger than ${maxBytes / 1024} KiB`)
  try {
    const lines = new LineCounter()
    // The parser's own check for duplicate keys takes quadratic time, so the check is below.
    const document = parseDocument(text, {
      merge: true,
      uniqueKeys: false,
      prettyErrors: false,
      lineCounter: lines,
      logLevel: 'error',
    })
    const [error] = document.errors
    if (error)
      return refuseFile(root, `is not valid YAML: ${firstLine(error.message)} (line ${lines.linePos(error.pos[0]).line})`)
    for (const warning of document.warnings)
      refuse(root, `${firstLine(warning.message)} (line ${lines.linePos(warning.pos[0]).line})`)
    checkExpandedSize(document.contents, { aliases: maxAliases, nodes: maxNodes, depth: maxDepth * 2 })
    keepScalarText(document, lines, root)
    if (path !== undefined) recordLines(document.contents, path, lines, root)
    const values: unknown = document.toJS({ maxAliasCount: 100 })
    if (values === null) return {}
    if (!isMapping(values)) return refuseFile(root, 'is not a mapping')
    return interpolateAll(values, root, { nodes: 0, length: 0, named: new Set() }, 0) as Record<string, unknown>
  } catch (cause) {
    return refuseFile(root, `cannot be read: ${cause instanceof Error ? firstLine(cause.message) : 'unknown reason'}`)
  }
}

function refuseFile(root: Location, reason: string): null {
  refuse(root, `the file ${reason}`)
  return null
}

const firstLine = (message: string) => message.split('\n', 1)[0]!

/** Keeps scalars as written: `1.10`, `0440` and ids above 2^53 must not become numbers. */
function keepScalarText(document: Document.Parsed, lines: LineCounter, root: Location): void {
  visit(document, {
    Scalar(_, node) {
      // `!reset` stands for no value: the text `null` after it is not a value.
      if (node.tag === '!reset') node.value = null
      if (['number', 'bigint', 'boolean'].includes(typeof node.value) && node.source !== undefined) node.value = node.source
    },
    Map(_, node) {
      const seen = new Set<unknown>()
      for (const { key } of node.items) {
        const name = isScalar(key) ? (key.source ?? key.value) : key
        if (name !== '<<' && seen.has(name))
          refuse(root, `"${String(name)}" is given twice (line ${lines.linePos((isScalar(key) && key.range?.[0]) || 0).line})`)
        seen.add(name)
        if (!isScalar(key) && !isAlias(key)) refuse(root, 'a key can only be a text')
      }
    },
  })
}

/** Records the line of each field. A field from an alias has the line of the alias. A later file overrides earlier ones. */
function recordLines(node: unknown, file: string, counter: LineCounter, root: Location, path = ''): void {
  const record = (key: string, at: number | undefined, value: unknown) => {
    const inner = path === '' ? key : `${path}.${key}`
    if (inner.length > 300) return
    root.reading.lines[inner] = { file: file.replace(/^\//, ''), line: counter.linePos(at ?? 0).line }
    recordLines(value, file, counter, root, inner)
  }
  if (isMap(node)) for (const { key, value } of node.items) if (isScalar(key)) record(String(key.value), key.range?.[0], value)
  if (isSeq(node))
    for (const [index, item] of node.items.entries()) record(String(index), (item as Node | null)?.range?.[0], item)
}

interface Count {
  nodes: number
  length: number
  /** Variables that the current service references. */
  named: Set<string>
}

/** Interpolates all texts. Aliases make the values a graph, so the number of nodes and the depth are limited. */
function interpolateAll(value: unknown, location: Location, count: Count, depth: number): unknown {
  if (++count.nodes > maxNodes || depth > maxDepth) throw new Error('it is too large or too deep once its aliases are followed')
  if (typeof value === 'string') return interpolateText(value, location, count)
  if (value === null) return null
  if (Array.isArray(value)) return value.map((item, index) => interpolateAll(item, within(location, index), count, depth + 1))
  if (isMapping(value) && Object.getPrototypeOf(value) === Object.prototype) {
    if (depth === 2) count.named.clear()
    return withVariables(
      Object.entries(value)
        .filter(([key]) => !(allowsExtensions(depth) && key.startsWith('x-')))
        .map(([key, item]) => [key, interpolateAll(item, within(location, key), count, depth + 1)]),
      depth === 2 && location.path.startsWith('services.') ? count.named : [],
    )
  }
  refuse(location, 'has a type that Compose files do not support')
  return null
}

/**
 * Adds the referenced variables to a service, in an extension field that a file cannot set. A merged service then has those of all
 * its parts.
 */
function withVariables(fields: [string, unknown][], named: Iterable<string>): Record<string, unknown> {
  const names = [...named]
  return Object.fromEntries(names.length > 0 ? [...fields, [variablesField, names]] : fields)
}

export const variablesField = 'x-berth-variables'

/** Extensions are allowed in the file itself and in each service; deeper, `x-…` may be a label or a variable. */
const allowsExtensions = (depth: number) => depth === 0 || depth === 2

function interpolateText(text: string, location: Location, count: Count): string {
  const { value, referenced, unset, missing, malformed } = interpolate(text, location.reading.env, maxLength - count.length)
  count.length += value.length
  for (const name of referenced) count.named.add(name)
  for (const name of unset) warn(location, `the variable ${name} is not set; an empty text is used`)
  for (const piece of malformed)
    warn(location, `"${piece.slice(0, 80)}" is not a variable and is left as written; write $$ for a dollar`)
  for (const { variable, message } of missing)
    if (location.reading.missing.length < 500)
      location.reading.missing.push({ path: location.path, variable, message: message.slice(0, 500) })
  return value
}
