import { parseDocument } from 'yaml'
import { expandedSize } from './compose/expanded-size.ts'

const maxBytes = 128 * 1024
const limits = { aliases: 100, nodes: 20_000, depth: 50 }

/** A YAML file of somebody's project as plain values; throws where it is broken, or too large once its aliases are followed. */
export function parseYaml(text: string): unknown {
  if (Buffer.byteLength(text) > maxBytes) throw new Error(`it is larger than ${maxBytes / 1024} KiB`)
  // The parser's own check for keys given twice takes quadratic time.
  const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: 'error' })
  const [error] = document.errors
  if (error) throw error
  expandedSize(document.contents, limits)
  return document.toJS({ maxAliasCount: 100 })
}
