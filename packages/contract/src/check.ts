import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { FieldProblem } from './errors.ts'
import { problemsOf } from './shape-problems.ts'

/** Validates a value against a shape. Returns the problems with the API's messages; empty if it is valid. */
export const problemsIn = (shape: TSchema, value: unknown): FieldProblem[] => problemsOf(Value.Errors(shape, value))
