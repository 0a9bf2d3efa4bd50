/** SQLite's extended result codes and PostgreSQL's SQLSTATEs for the same things. */
const uniqueCodes: readonly unknown[] = [2067, 1555, '23505']
const foreignKeyCodes: readonly unknown[] = [787, '23503']
const transientCodes: readonly unknown[] = ['40001', '40P01']

/** On PostgreSQL the failed statement has spoilt its transaction: prefer `on conflict do nothing` inside one. */
export function isUniqueViolation(error: unknown): boolean {
  return uniqueCodes.includes(databaseCode(error))
}

export function isForeignKeyViolation(error: unknown): boolean {
  return foreignKeyCodes.includes(databaseCode(error))
}

/** A serialization failure or a deadlock: the same transaction, run again, may pass. */
export function isTransientConflict(error: unknown): boolean {
  return transientCodes.includes(databaseCode(error))
}

/** A value that the column's type cannot hold, such as letters for a number. Only PostgreSQL minds. */
export function isUnfitValue(error: unknown): boolean {
  const code = databaseCode(error)
  return typeof code === 'string' && code.startsWith('22')
}

function databaseCode(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined
  if ('errcode' in error) return error.errcode
  return 'code' in error ? error.code : undefined
}
