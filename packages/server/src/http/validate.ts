import { fieldOf, problemsOf } from '@berth/contract'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifyInstance, FastifySchemaValidationError } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { Failure } from '../platform/failure.ts'

const formats = (ajv: Ajv) => (addFormats as unknown as (ajv: Ajv) => Ajv)(ajv)
const common = { allErrors: true, useDefaults: true, strict: false, removeAdditional: 'all' } as const

/** Bodies are not coerced: `null` or `"1"` is not a boolean. */
const strict = formats(new Ajv({ ...common, coerceTypes: false }))
/** Query strings are text, so `limit=20` becomes a number. */
const coercing = formats(new Ajv({ ...common, coerceTypes: true }))

/** Compiles schemas at their first use: most routes are rarely called, and startup stays fast. */
export function validateLazily(app: FastifyInstance): void {
  app.setValidatorCompiler(({ schema, httpPart }) => {
    const ajv = httpPart === 'body' ? strict : coercing
    let check: ValidateFunction | undefined
    return (value: unknown) => {
      check ??= ajv.compile(schema as object)
      return check(value) ? { value } : { error: inOrder(check.errors ?? [], schema as SchemaParts) as unknown as Error }
    }
  })
  app.setSchemaErrorFormatter((errors, part) => failureOf(errors, part))
}

const compiled = new WeakMap<object, ValidateFunction>()

/** Validates a value that is not a request body by the same rules; unknown fields are removed. */
export function checkShape<T extends TSchema>(schema: T, value: unknown): Static<T> {
  const check = compiled.get(schema) ?? strict.compile(schema)
  compiled.set(schema, check)
  if (!check(value)) throw failureOf(inOrder(check.errors ?? [], schema as SchemaParts), 'body')
  return value as Static<T>
}

interface SchemaParts {
  properties?: Record<string, unknown>
}

/** Sorts errors by the order of the schema's fields, regardless of the order of Ajv's checks. */
function inOrder(errors: ErrorObject[], { properties = {} }: SchemaParts): ErrorObject[] {
  const names = Object.keys(properties)
  const location = (error: ErrorObject) => names.indexOf(fieldOf(error).split('.')[0] as string)
  return errors.toSorted((left, right) => location(left) - location(right))
}

function failureOf(errors: FastifySchemaValidationError[] | ErrorObject[], part: string): Failure {
  const details = problemsOf(errors as ErrorObject[])
  const first = details[0] ?? { field: part, message: 'is not valid' }
  return new Failure('validation_failed', { message: `${first.field}: ${first.message}`, field: first.field, details })
}
