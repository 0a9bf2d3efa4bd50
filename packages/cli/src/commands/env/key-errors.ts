import { ApiError } from '@berth/contract/client'

interface Changes {
  upserts?: readonly { key: string }[]
  deletes?: readonly string[]
}

/** Replaces the API's field, such as `upserts.0.key`, by the variable's name as the user typed it. */
export function nameKeys(error: unknown, changes: Changes): unknown {
  if (!(error instanceof ApiError) || !error.field) return error
  const key = keyAt(error.field, changes)
  if (key === undefined) return error
  const lines = error.details.map(({ field, message }) => `${keyAt(field, changes) ?? field}: ${message}`)
  const message = lines.join('\n  ') || error.message.replace(error.field, key)
  return Object.assign(error, { message, field: undefined })
}

function keyAt(field: string, { upserts = [], deletes = [] }: Changes): string | undefined {
  const [, list, at] = /^(upserts|deletes)\.(\d+)/.exec(field) ?? []
  return list === 'upserts' ? upserts[Number(at)]?.key : deletes[Number(at)]
}
