import fastJson from 'fast-json-stringify'
import type { FastifyInstance } from 'fastify'

/** Serialisers also strip what a row does not declare, so that no secret slips out. They compile at their first use. */
export function serializeLazily(app: FastifyInstance): void {
  app.setSerializerCompiler(({ schema }) => {
    let serialize: ((value: unknown) => string) | undefined
    const known = new WeakMap<object, string>()
    return (value) => {
      serialize ??= fastJson(withoutChoice(schema) as never)
      // A frozen answer is one that is given again (see `memoizeByRows`): so is its text.
      if (!Object.isFrozen(value)) return serialize(value)
      const before = known.get(value)
      if (before !== undefined) return before
      const text = serialize(value)
      known.set(value, text)
      return text
    }
  })
}

/** "This or null" as `nullable`: for a choice the serialiser asks a validator at every value, which takes longer than all the rest. */
function withoutChoice(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutChoice)
  if (typeof schema !== 'object' || schema === null) return schema
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, withoutChoice(part)]))
  const { anyOf, ...rest } = parts as { anyOf?: { type?: string }[] }
  const [only, ...others] = anyOf?.filter(({ type }) => type !== 'null') ?? []
  if (!anyOf || !only || others.length > 0) return parts
  return { ...rest, ...only, ...(anyOf.length > 1 ? { nullable: true } : {}) }
}
