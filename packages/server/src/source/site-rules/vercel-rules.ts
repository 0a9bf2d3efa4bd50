import { dig, recordOf, textOf } from '../values.ts'
import { RulesCollector } from './collect-rules.ts'
import { clip } from './rule-parts.ts'

/** `redirects`, `rewrites` and `headers` of vercel.json. Redirects take precedence over files, and files over rewrites. */
export function vercelRules(json: unknown): RulesCollector {
  const collector = new RulesCollector('vercel.json')
  for (const [entry, source] of entriesOf(json, 'redirects', collector))
    collector.redirect({ from: source, to: textOf(entry.destination) ?? '', status: statusOf(entry), force: true })
  for (const [entry, source] of entriesOf(json, 'rewrites', collector))
    collector.redirect({ from: source, to: textOf(entry.destination) ?? '', status: 200, force: false })
  for (const [entry, source] of entriesOf(json, 'headers', collector)) {
    const pairs = Array.isArray(entry.headers) ? entry.headers.map(recordOf) : []
    collector.headers(
      source,
      pairs.map(({ key, value }) => [textOf(key) ?? '', textOf(value) ?? ''] as const),
    )
  }
  return collector
}

function entriesOf(json: unknown, key: string, collector: RulesCollector): [Record<string, unknown>, string][] {
  const all = dig(json, key)
  return (Array.isArray(all) ? all : []).flatMap((one): [Record<string, unknown>, string][] => {
    const entry = recordOf(one)
    const source = textOf(entry.source) ?? ''
    const condition = ['has', 'missing'].find((name) => entry[name] !== undefined)
    if (condition) collector.ignore(`${clip(source)} depends on "${condition}", which is not supported`)
    return condition ? [] : [[entry, source]]
  })
}

function statusOf({ statusCode, permanent }: Record<string, unknown>): number {
  if (typeof statusCode === 'number') return statusCode
  return permanent === false ? 307 : 308
}
