import { messageOf } from '@berth/contract'

/** Whether a write failed because the disk or the user's quota is full. */
export const isDiskFull = (error: unknown): boolean => isFull(error, maxCauses)

const maxCauses = 5

/** Code and message for work that failed because of a full disk; undefined: it failed for another reason. */
export const diskFullFailure = (error: unknown): { code: string; message: string } | undefined =>
  isDiskFull(error) ? { code: 'storage_full', message: messageOf('storage_full') } : undefined

function isFull(error: unknown, depth: number): boolean {
  if (!(error instanceof Error) || depth === 0) return false
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  return (
    codes.has(code) ||
    // The lower byte is the primary code of SQLite.
    (typeof errcode === 'number' && (errcode & 0xff) === sqliteFull) ||
    isFull(error.cause, depth - 1)
  )
}

/** Error codes of the system, and PostgreSQL's `disk_full`. */
const codes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', '53100'])
const sqliteFull = 13
