/** Replaces fields that the schema marks `writeOnly`, so that the body can be logged. */
export function redact(schema: unknown, value: unknown): unknown {
  const { writeOnly, properties, items, anyOf } = (schema ?? {}) as SchemaParts
  if (writeOnly) return value === null ? null : '[secret]'
  if (typeof value !== 'object' || value === null) return value
  if (anyOf) {
    const fits = ({ properties, items }: SchemaParts) => (Array.isArray(value) ? items : properties)
    return redact(
      anyOf.find((branch) => fits(branch as SchemaParts)),
      value,
    )
  }
  if (Array.isArray(value)) return value.map((item) => redact(items, item))
  if (!properties) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, redact(properties[key], inner)]))
}

interface SchemaParts {
  writeOnly?: boolean
  properties?: Record<string, unknown>
  items?: unknown
  anyOf?: unknown[]
}
