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
      // Bytes are sent as they are; text is encoded for each client. Node sends a short text together with the headers.
      // Fastify sends both, but its type of a serializer says text only.
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
  const serialize: Serialize = fastJson(unionsToNullable(schema) as never)
  compiled.set(schema, serialize)
  return serialize
}

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
