import type { TSchema } from 'typebox'

/** The description of a field, optionally with the descriptions of its nested fields. */
export type FieldText = string | readonly [text: string, nestedTexts: FieldTexts]
export interface FieldTexts {
  readonly [field: string]: FieldText
}

interface Parts {
  type?: unknown
  properties?: Record<string, TSchema>
  items?: Parts
  anyOf?: Parts[]
}

/**
 * Adds the descriptions of the API reference to the fields of a shape, or to a record of fields. Call it directly after the shape,
 * so that shapes derived from these fields have the descriptions too. Throws for a name that is not a field.
 */
export function describeFields(shape: object, texts: FieldTexts): void {
  const fields = fieldsOf(shape as Parts)
  for (const [name, text] of Object.entries(texts)) {
    const field = fields[name]
    if (!field) throw new Error(`${name} has a description but is not one of the fields ${Object.keys(fields).join(', ')}`)
    const [ownText, nestedTexts] = typeof text === 'string' ? [text] : text
    if (nestedTexts) describeFields(objectIn(field as Parts), nestedTexts)
    fields[name] = withDescription(field, ownText)
  }
}

/** Copies non-enumerable properties too: TypeBox marks optional fields with one. */
const withDescription = (field: TSchema, description: string): TSchema =>
  Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(field),
      description: { value: description, enumerable: true, writable: true, configurable: true },
    },
  ) as TSchema

const fieldsOf = (shape: Parts): Record<string, TSchema> =>
  typeof shape.type === 'string' && shape.properties ? shape.properties : (shape as Record<string, TSchema>)

/** The object schema in a field: the field itself, the items of a list, or the object branch of a union. */
function objectIn(field: Parts): Parts {
  if (field.properties) return field
  if (field.items) return objectIn(field.items)
  const branch = field.anyOf?.find(({ properties, items }) => properties ?? items)
  if (!branch) throw new Error('descriptions of nested fields were given for a field that is not an object')
  return objectIn(branch)
}
