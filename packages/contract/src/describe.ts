import type { TSchema } from 'typebox'

/** A field's description, or one together with those of the fields within it. */
export type FieldText = string | readonly [text: string, within: FieldTexts]
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
 * Gives the fields of a shape, or of a record of fields, their descriptions in the API reference. It stands right below the shape:
 * shapes that are made of these fields later on have the descriptions too. A name that is not a field throws.
 */
export function describeFields(shape: object, texts: FieldTexts): void {
  const fields = fieldsOf(shape as Parts)
  for (const [name, text] of Object.entries(texts)) {
    const field = fields[name]
    if (!field) throw new Error(`${name} has a description and is not a field of ${Object.keys(fields).join(', ')}`)
    const [own, within] = typeof text === 'string' ? [text] : text
    if (within) describeFields(objectIn(field as Parts), within)
    fields[name] = withDescription(field, own)
  }
}

/** The copy keeps what typebox hides on a schema: whether the field is optional. */
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

/** The object that a field holds: itself, the entries of a list, or the branch of a union that is an object. */
function objectIn(field: Parts): Parts {
  if (field.properties) return field
  if (field.items) return objectIn(field.items)
  const branch = field.anyOf?.find(({ properties, items }) => properties ?? items)
  if (!branch) throw new Error('descriptions of fields within a field that holds no object')
  return objectIn(branch)
}
