interface Schema {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
}

/** Returns the smallest value that matches a schema. Patterns and formats are ignored. */
export function sampleOf(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return sampleOf(schema.anyOf[0] as Schema)
  const [type] = [schema.type].flat()
  if (type === 'object')
    return Object.fromEntries((schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] as Schema)]))
  return { array: [], string: 'x', integer: 1, number: 1, boolean: true }[type as 'string'] ?? null
}
