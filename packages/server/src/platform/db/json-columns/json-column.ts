import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { Selectable } from 'kysely'
import type { Static, TSchema } from 'typebox'
import type { Schema } from '../schema.ts'

/**
 * Reads a JSON column of a row: parsed, and checked against its structure. Null where the column is. Throws `StoredValueError`,
 * which names table, column and row.
 */
export type JsonColumn<Column extends string, Of> = <Row extends Readonly<Record<Column, string | null>>>(
  row: Row,
) => Of | (null extends Row[Column] ? null : never)

type TextColumn<Table extends keyof Schema> = keyof Selectable<Schema[Table]> & string

/** A stored value that does not have the structure of its column: the row was changed by hand or by another version. */
export class StoredValueError extends Error {
  override name = 'StoredValueError'

  constructor(column: string, row: string, problem: string) {
    super(`The stored value of ${column} in row ${row} is invalid: ${problem}`)
  }
}

/** Declares the reader of a column. `key` are the columns that identify a row. */
export function jsonColumn<Table extends keyof Schema, Column extends TextColumn<Table>, Shape extends TSchema>(
  table: Table,
  column: Column,
  shape: Shape,
  key: readonly TextColumn<Table>[] = ['id' as TextColumn<Table>],
): JsonColumn<Column, Static<Shape>> {
  const read = reader(`${table}.${column}`, shape)
  return (row) => {
    const text = row[column]
    // A type that depends on the row's type cannot be narrowed here.
    return (text === null ? null : read(text, () => keyOf(row, key))) as Static<Shape>
  }
}

/** Declares the reader of the plain text of a sealed column, such as `servers.credential`. */
export function sealedJson<Shape extends TSchema>(name: string, shape: Shape): (text: string, id: string) => Static<Shape> {
  const read = reader(name, shape)
  return (text, id) => read(text, () => id)
}

function reader<Shape extends TSchema>(name: string, shape: Shape): (text: string, row: () => string) => Static<Shape> {
  let check: ValidateFunction | undefined
  return (text, row) => {
    check ??= ajv.compile(structureOf(shape))
    const value = parsed(text, name, row)
    if (!check(value)) throw new StoredValueError(name, row(), problemOf(check.errors?.[0]))
    return value as Static<Shape>
  }
}

/** Checks only: the value stays as it is stored. */
const ajv = new Ajv({ strict: false, allErrors: false })

/** The parser's own message is left out, because it quotes the text, which may be secret. */
function parsed(text: string, name: string, row: () => string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new StoredValueError(name, row(), 'it is not JSON')
  }
}

const keyOf = (row: object, key: readonly string[]): string =>
  key.flatMap((column) => (row as Record<string, unknown>)[column] ?? []).join(' ') || '(key not read)'

const problemOf = (error: ErrorObject | undefined): string =>
  `${error?.instancePath.slice(1).replaceAll('/', '.') || 'it'} ${error?.message ?? 'has another structure'}`

interface Node {
  type?: string | string[]
  properties?: Record<string, Node>
  required?: string[]
  items?: Node
  anyOf?: Node[]
  additionalProperties?: Node | boolean
  patternProperties?: Record<string, Node>
}

/**
 * The types and required fields of a schema, without its bounds, patterns and lists of values: those are rules for requests, and a
 * row may be older than the rule.
 */
function structureOf(schema: Node): Node {
  const { type, properties, required, items, anyOf, patternProperties } = schema
  const [values] = Object.values(patternProperties ?? {})
  return {
    ...(type ? { type: [type].flat().map((one) => (one === 'integer' ? 'number' : one)) } : {}),
    ...(properties
      ? { properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, structureOf(field)])) }
      : {}),
    ...(required ? { required } : {}),
    ...(items ? { items: structureOf(items) } : {}),
    ...(anyOf ? { anyOf: anyOf.map(structureOf) } : {}),
    ...(values ? { additionalProperties: structureOf(values) } : {}),
  }
}
