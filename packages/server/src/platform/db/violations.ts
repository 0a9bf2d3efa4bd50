import { errorMessage } from '../error-message.ts'

/** SQLite's extended result codes and PostgreSQL's SQLSTATEs for the same errors. */
const uniqueCodes: readonly unknown[] = [2067, 1555, '23505']
const foreignKeyCodes: readonly unknown[] = [787, '23503']
const transientCodes: readonly unknown[] = ['40001', '40P01']

/** PostgreSQL aborts the transaction of the failed statement: inside a transaction prefer `on conflict do nothing`. */
export function isUniqueViolation(error: unknown): boolean {
  return uniqueCodes.includes(databaseCode(error))
}

export function isForeignKeyViolation(error: unknown): boolean {
  return foreignKeyCodes.includes(databaseCode(error))
}

/** A serialization failure, a deadlock or an outdated plan: the same transaction may succeed when it is retried. */
export function isTransientConflict(error: unknown): boolean {
  return transientCodes.includes(databaseCode(error)) || isOutdatedPlan(error)
}

/** A newer control plane has added a column since PostgreSQL planned the statement for its connection. */
export const isOutdatedPlan = (error: unknown): boolean =>
  databaseCode(error) === '0A000' && errorMessage(error).includes('cached plan')

/** A value that the column's type cannot hold, such as letters for a number. Only PostgreSQL reports it. */
export function isInvalidValue(error: unknown): boolean {
  const code = databaseCode(error)
  return typeof code === 'string' && code.startsWith('22')
}

export function isMissingTable(error: unknown): boolean {
  return databaseCode(error) === '42P01' || (databaseCode(error) === 1 && errorMessage(error).includes('no such table'))
}

function databaseCode(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined
  if ('errcode' in error) return error.errcode
  return 'code' in error ? error.code : undefined
}
