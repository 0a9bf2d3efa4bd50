/** The parts of a JSON schema that decide which fields an object may have. */
interface Schema {
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  /** Shapes of an object by the `kind` of the record that holds it. */
  kinds?: Record<string, Schema>
  /** Fields that are removed without a warning. */
  'x-ignored-fields'?: readonly string[]
}

const maxListed = 20
const maxCharacters = 200

/**
 * Removes the fields that the schema does not declare from the body and returns a warning for each, by its dotted path.
 * Fields of `x-ignored-fields` are removed without one. The number and the length of the warnings are bounded: the client
 * chooses the names.
 */
export function dropUnknownFields(schema: object, body: unknown): string[] {
  if (hasDeclaredFieldsOnly(schema as Schema, body)) return []
  const paths: string[] = []
  walk([schema as Schema], body, [], paths)
  return boundedWarnings('field', paths)
}

/** A warning for each unknown name, up to a bound on their number and length. */
export function boundedWarnings(thing: 'field' | 'query parameter', names: readonly string[]): string[] {
  const named = names.slice(0, maxListed).map((name) => `Unknown ${thing} ignored: ${shorten(name)}`)
  return names.length > maxListed ? [...named, `Unknown ${thing}s ignored: ${names.length - maxListed} more`] : named
}

/** Fast check without allocations. False also for schemas that it does not follow: unions, patterns and shapes by kind. */
function hasDeclaredFieldsOnly(schema: Schema, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  const { properties, patternProperties, items, anyOf, oneOf, kinds } = schema
  if (anyOf || oneOf || kinds || patternProperties) return false
  if (Array.isArray(value)) return !items || value.every((item) => hasDeclaredFieldsOnly(items, item))
  if (!properties) return true
  const fields = value as Record<string, unknown>
  return Object.keys(fields).every(
    (name) => Object.hasOwn(properties, name) && hasDeclaredFieldsOnly(properties[name] as Schema, fields[name]),
  )
}

function walk(alternatives: Schema[], value: unknown, path: readonly string[], unknown: string[]): void {
  if (typeof value !== 'object' || value === null) return
  const schemas = alternatives.flatMap(choicesOf)
  if (Array.isArray(value)) {
    const items = schemas.flatMap(({ items }) => items ?? [])
    if (items.length > 0) value.forEach((item, at) => void walk(items, item, [...path, String(at)], unknown))
    return
  }
  const declaring = schemas.filter(({ properties, patternProperties }) => properties ?? patternProperties)
  if (declaring.length === 0) return
  const fields = value as Record<string, unknown>
  for (const [name, inner] of Object.entries(fields)) {
    const declared = declaring.flatMap((schema) => declaredAs(schema, name, fields.kind))
    if (declared.length > 0) walk(declared, inner, [...path, name], unknown)
    else {
      delete fields[name]
      if (!declaring.some((schema) => schema['x-ignored-fields']?.includes(name))) unknown.push([...path, name].join('.'))
    }
  }
}

/** The branches of a union: a field is unknown if no branch declares it. */
const choicesOf = (schema: Schema): Schema[] =>
  schema.anyOf || schema.oneOf ? [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap(choicesOf) : [schema]

function declaredAs({ properties, patternProperties }: Schema, name: string, kind: unknown): Schema[] {
  const own = properties && Object.hasOwn(properties, name) ? [properties[name] as Schema] : []
  const matching = Object.entries(patternProperties ?? {}).filter(([pattern]) => new RegExp(pattern, 'u').test(name))
  return [...own, ...matching.map(([, schema]) => schema)].flatMap((schema) => shapesOf(schema, kind))
}

function shapesOf(schema: Schema, kind: unknown): Schema[] {
  if (!schema.kinds) return [schema]
  const own = typeof kind === 'string' && Object.hasOwn(schema.kinds, kind) ? schema.kinds[kind] : undefined
  return own ? [own] : Object.values(schema.kinds)
}

const shorten = (path: string) => (path.length > maxCharacters ? `${path.slice(0, maxCharacters)}…` : path)
