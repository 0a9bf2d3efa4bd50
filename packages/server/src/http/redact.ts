/** What of a body may be written down: fields that their schema marks `writeOnly` become a word. */
export function redact(schema: unknown, value: unknown): unknown {
  const { writeOnly, properties, items, anyOf } = (schema ?? {}) as SchemaParts
  if (writeOnly) return value === null ? null : '[secret]'
  if (Array.isArray(value)) return value.map((item) => redact(items, item))
  if (typeof value !== 'object' || value === null) return value
  if (anyOf)
    return redact(
      anyOf.find((branch) => (branch as SchemaParts).properties),
      value,
    )
  if (!properties) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, redact(properties[key], inner)]))
}

interface SchemaParts {
  writeOnly?: boolean
  properties?: Record<string, unknown>
  items?: unknown
  anyOf?: unknown[]
}
