import { parseDocument } from 'yaml'
import { checkExpandedSize } from './compose/expanded-size.ts'

const maxBytes = 128 * 1024
const limits = { aliases: 100, nodes: 20_000, depth: 50 }

/** Parses an untrusted YAML file to plain values; throws when it is invalid, or too large once its aliases are expanded. */
export function parseYaml(text: string): unknown {
  if (Buffer.byteLength(text) > maxBytes) throw new Error(`it is larger than ${maxBytes / 1024} KiB`)
  // The parser's own check for duplicate keys takes quadratic time.
  const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: 'error' })
  const [error] = document.errors
  if (error) throw error
  checkExpandedSize(document.contents, limits)
  return document.toJS({ maxAliasCount: 100 })
}
