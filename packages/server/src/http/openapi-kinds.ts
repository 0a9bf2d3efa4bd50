interface Schema {
  [keyword: string]: unknown
  properties?: Record<string, Schema>
  required?: string[]
  kinds?: Record<string, Schema>
}

/**
 * Converts schemas to OpenAPI: an object whose `config` depends on its `kind` becomes `oneOf` with a discriminator, each branch a
 * component of its own. If the body may omit the kind, the config is one of all shapes.
 */
export class KindExpander {
  readonly components: Record<string, unknown> = {}

  /** `name` is unique per schema; the components of the schema are named after it. */
  expand(schema: unknown, name: string): unknown {
    if (Array.isArray(schema)) return schema.map((part, at) => this.expand(part, `${name}.${at}`))
    if (typeof schema !== 'object' || schema === null) return schema
    const { kinds, ...rest } = schema as Schema
    const [field, shapes] = fieldWithKinds(rest)
    if (field && shapes && rest.required?.includes('kind')) return this.#choice(rest, field, shapes, name)
    const parts = Object.entries(rest).map(([key, part]) => [
      key,
      this.expand(part, key === 'properties' ? name : `${name}.${key}`),
    ])
    const plain = Object.fromEntries(parts) as Schema
    if (!kinds) return plain
    const { type: _type, properties: _properties, patternProperties: _pattern, required: _required, ...others } = plain
    return { ...others, anyOf: Object.values(kinds) }
  }

  #choice(schema: Schema, field: string, shapes: Record<string, Schema>, name: string): object {
    const { description, ...object } = schema
    const mapping = Object.keys(shapes).map((kind) => {
      const component = `${name}.${kind}`
      const fields = schema.properties as Record<string, Schema>
      const fieldText = fields[field]?.description
      const properties = {
        ...(this.expand(fields, name) as Record<string, Schema>),
        kind: { ...fields.kind, enum: [kind] },
        [field]: { ...shapes[kind], ...(fieldText ? { description: fieldText } : {}) },
      }
      this.components[component] = { ...object, title: component, properties }
      return [kind, `#/components/schemas/${component}`] as const
    })
    return {
      ...(description ? { description } : {}),
      oneOf: mapping.map(([, $ref]) => ({ $ref })),
      discriminator: { propertyName: 'kind', mapping: Object.fromEntries(mapping) },
    }
  }
}

function fieldWithKinds({ properties = {} }: Schema): [string, Record<string, Schema>] | [] {
  const found = Object.entries(properties).find(([, { kinds }]) => kinds)
  return found ? [found[0], found[1].kinds as Record<string, Schema>] : []
}
