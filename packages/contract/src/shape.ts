import { type Static, type TSchema, Type } from 'typebox'
import { limits } from './limits.ts'

/** Schemas that the shapes of all modules are built from. */

export const Id = Type.String({ minLength: 1, maxLength: 64 })
export const Time = Type.String({ format: 'date-time' })

/** `null` or the type: written as a type list if possible, which serialises faster than a union. */
export function nullable<T extends TSchema>(schema: T) {
  const { type, enum: values } = schema as { type?: unknown; enum?: unknown[] }
  if (typeof type === 'string' && type !== 'object' && type !== 'array')
    return Type.Unsafe<Static<T> | null>({ ...schema, type: [type, 'null'], ...(values ? { enum: [...values, null] } : {}) })
  return Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }] })
}

/** Text or null. */
export const maybe = nullable(Type.String())

export const oneOf = <const V extends readonly string[]>(...values: V) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: [...values] })

/** A JSON object with any content. */
export const AnyObject = Type.Record(Type.String(), Type.Unknown())

/** Problems of a request that was carried out anyway. Absent if there are none. */
export const Warnings = Type.Array(Type.String(), {
  description: 'Fields of the body and parameters of the query that are unknown and were ignored',
})

/**
 * An object whose fields depend on the `kind` of the record that holds it. The reference shows the shape of each kind; the module
 * that owns the record validates it.
 */
export const byKind = (kinds: Record<string, TSchema>) => Type.Unsafe<Record<string, unknown>>({ ...AnyObject, kinds })

const withText = <T extends TSchema>(schema: T, description: string): T => ({ ...schema, description })

export const data = <T extends TSchema>(schema: T) => Type.Object({ data: withText(schema, 'The result') })
export const list = <T extends TSchema>(schema: T) =>
  Type.Object({
    data: Type.Array(schema, { description: 'The records of this page' }),
    nextCursor: nullable(Type.String({ description: 'Send it as `cursor` for the next page; null on the last page' })),
  })
/** A list without paging: the spec's `{ data: [...] }`. */
export const wholeList = <T extends TSchema>(schema: T) =>
  Type.Object({ data: Type.Array(schema, { description: 'All records' }) })

export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.listMaximum,
      default: limits.listDefault,
      description: 'How many records a page has at most',
    }),
  ),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1000, description: '`nextCursor` of the page before; absent: the first page' }),
  ),
}
export const PageQuery = Type.Object(pageQuery)

/** A write-only value: never in a read, never in the audit log. */
export const secret = <T extends TSchema>(schema: T): T => ({ ...schema, writeOnly: true })

export const text = (maximum: number, minimum = 0) => Type.String({ minLength: minimum, maxLength: maximum })
/**
 * A single line with at least one visible character. Names must not contain characters that control a terminal, end a line or
 * change the text direction: names appear in logs, emails and terminals, where these could deceive the reader.
 */
export const filledText = (maximum: number) =>
  Type.String({
    minLength: 1,
    maxLength: maximum,
    pattern:
      '^(?=[^]*[^\\s\\u200b-\\u200f\\u2060-\\u2064\\ufeff])[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$',
  })
export const Port = Type.Integer({ minimum: 1, maximum: 65535 })
/** A DNS host name: labels of at most 63 characters, at most 253 in total. */
export const Hostname = Type.String({
  maxLength: 253,
  pattern: '^(?=.{1,253}$)([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\\.)+[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$',
})
/** A host name as users write it: any case, any script, with or without a trailing dot; the server normalises it. */
export const DomainName = Type.String({ minLength: 1, maxLength: 254, pattern: '^[^\\s/:@?#%\\[\\]\\\\]+$' })
