import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { FieldProblem } from './errors.ts'
import { problemsOf } from './shape-problems.ts'

/** The problems of a value, in the words of the API; none if it has the shape. */
export const problemsIn = (shape: TSchema, value: unknown): FieldProblem[] => problemsOf(Value.Errors(shape, value))
