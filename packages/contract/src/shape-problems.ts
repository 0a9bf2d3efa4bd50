import type { FieldProblem } from './errors.ts'
import { patternText } from './pattern-texts.ts'

/** A validation error as Ajv and TypeBox report it. */
export interface ShapeError {
  keyword: string
  /** JSON Pointer of the value. */
  instancePath: string
  params: object
  message?: string
}

/** The problems of a value, by field: the first of each field, in the order of the errors. */
export const problemsOf = (errors: readonly ShapeError[]): FieldProblem[] =>
  errors
    .filter(isInformative)
    .map((error) => ({ field: fieldOf(error), message: messageOf(error) }))
    .filter((problem, at, all) => all.findIndex((other) => other.field === problem.field) === at)

interface Params {
  allowedValues?: readonly unknown[]
  limit?: number
  missingProperty?: string
  pattern?: string
  /** TypeBox's form of `missingProperty`. */
  requiredProperties?: readonly string[]
  type?: string | readonly string[]
}

const paramsOf = ({ params }: ShapeError) => params as Params

/**
 * Drops union errors: each branch is reported, and the `null` branch never explains the mistake. TypeBox reports an unknown field
 * both at the object and, as `boolean`, at the field.
 */
const isInformative = (error: ShapeError, _: number, all: readonly ShapeError[]) =>
  all.length === 1 ||
  !(['anyOf', 'additionalProperties'].includes(error.keyword) || (error.keyword === 'type' && paramsOf(error).type === 'null'))

/** The path of the field, such as `resources.production.memoryMb`. */
export function fieldOf(error: ShapeError): string {
  const path = error.instancePath.split('/').slice(1).map(unescapePointer)
  const { missingProperty, requiredProperties = [] } = paramsOf(error)
  if (error.keyword === 'required') path.push(missingProperty ?? requiredProperties[0] ?? '')
  return path.join('.') || 'body'
}

function messageOf(error: ShapeError): string {
  const { allowedValues = [], limit, pattern = '', type = [] } = paramsOf(error)
  if (error.keyword === 'required') return 'is required'
  if (error.keyword === 'boolean') return 'is unknown'
  if (error.keyword === 'enum') return `must be one of ${allowedValues.filter((value) => value !== null).join(', ')}`
  if (error.keyword === 'type') return `must be ${[type].flat().join(' or ')}`
  if (error.keyword === 'minLength' && limit === 1) return 'must not be empty'
  if (error.keyword === 'pattern') return patternText(pattern)
  return error.message ?? 'is not valid'
}

const unescapePointer = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~')
