import fastJson from 'fast-json-stringify'
import type { FastifyInstance } from 'fastify'

const maxTextLength = 16_384

/** Serializers also strip undeclared fields, so that no secret leaks. They compile at their first use. */
export function serializeLazily(app: FastifyInstance): void {
  app.setSerializerCompiler(({ schema }) => {
    let serialize: Serialize | undefined
    const cachedTexts = new WeakMap<object, string>()
    return (value) => {
      serialize ??= compileOnce(schema)
      // A frozen response is a cached one (see `memoizeByRows`): cache its text too.
      if (!Object.isFrozen(value)) return serialize(value)
      const cached = cachedTexts.get(value)
      if (cached !== undefined) return cached
      const text = serialize(value)
      // A long text is cached as bytes, so that it is not encoded again for each client. A short one stays text, because Node
      // sends it together with the headers. Fastify sends both, but its type of a serializer allows only text.
      const body = text.length < maxTextLength ? text : (Buffer.from(text) as never)
      cachedTexts.set(value, body)
      return body
    }
  })
}

type Serialize = (value: unknown) => string

const compiled = new WeakMap<object, Serialize>()

/** Returns the serializer of a schema: one for all servers of this process. */
function compileOnce(schema: object): Serialize {
  const known = compiled.get(schema)
  if (known) return known
  const serialize = compile(unionsToNullable(schema))
  compiled.set(schema, serialize)
  return serialize
}

interface ListSchema {
  properties?: { data?: { type?: string; items?: object }; nextCursor?: unknown }
}

/** Compiles a serializer. It caches the text of each frozen item of a list: only changed rows of a page are serialised again. */
function compile(schema: unknown): Serialize {
  const serialize: Serialize = fastJson(schema as never)
  const { data } = (schema as ListSchema).properties ?? {}
  if (data?.type !== 'array' || !data.items) return serialize
  const serializeItem: Serialize = fastJson(data.items as never)
  const texts = new WeakMap<object, string>()
  const textOf = (item: object) => {
    const cached = texts.get(item)
    if (cached !== undefined) return cached
    const text = serializeItem(item)
    texts.set(item, text)
    return text
  }
  return (value) => {
    const { data: items } = value as { data?: unknown }
    if (!Object.isFrozen(value) || !Array.isArray(items) || !items.every(isFrozenObject)) return serialize(value)
    // The rest of the response, with an empty list that comes first.
    const rest = serialize({ ...(value as object), data: [] })
    if (!rest.startsWith(emptyList)) return serialize(value)
    return `${emptyList.slice(0, -1)}${items.map(textOf).join(',')}${rest.slice(emptyList.length - 1)}`
  }
}

const emptyList = '{"data":[]'
const isFrozenObject = (item: unknown): boolean => typeof item === 'object' && item !== null && Object.isFrozen(item)

/** Rewrites "this or null" to `nullable`: for a union the serializer runs a validator on every value, which is its slowest part. */
function unionsToNullable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(unionsToNullable)
  if (typeof schema !== 'object' || schema === null) return schema
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, unionsToNullable(part)]))
  const { anyOf, ...rest } = parts as { anyOf?: { type?: string }[] }
  const [only, ...others] = anyOf?.filter(({ type }) => type !== 'null') ?? []
  if (!anyOf || !only || others.length > 0) return parts
  return { ...rest, ...only, ...(anyOf.length > 1 ? { nullable: true } : {}) }
}
