import { fieldTexts } from '@berth/contract'

interface Schema {
  [keyword: string]: unknown
  type?: unknown
  properties?: Record<string, Schema>
  description?: string
}

/** A copy of the schema in which every field has a description: its own, else that of its name. */
export function withTexts(schema: unknown, module: string, parent = ''): unknown {
  if (Array.isArray(schema)) return schema.map((part) => withTexts(part, module, parent))
  if (typeof schema !== 'object' || schema === null) return schema
  const { properties, ...rest } = schema as Schema
  const parts = Object.entries(rest).map(([key, part]) => [key, withTexts(part, module, parent)])
  const fields = properties && Object.entries(properties).map(([name, field]) => [name, described(name, field, module, parent)])
  return { ...Object.fromEntries(parts), ...(fields ? { properties: Object.fromEntries(fields) } : {}) }
}

function described(name: string, field: Schema, module: string, parent: string): unknown {
  const description = field.description ?? textOf(name, module, parent)
  return { ...(withTexts(field, module, name) as object), ...(description ? { description } : {}) }
}

/** The description of a field by its place: within another field, in a module, or anywhere. */
export const textOf = (name: string, module: string, parent = ''): string | undefined =>
  fieldTexts[`${parent}.${name}`] ?? fieldTexts[`${module}:${name}`] ?? fieldTexts[name]
