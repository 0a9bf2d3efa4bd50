import { ApiError } from '@berth/contract/client'

/** A user error, printed as one line without a stack trace. */
export class Plain extends Error {
  readonly exitCode: number
  constructor(words: string, exitCode = 1) {
    super(words)
    this.exitCode = exitCode
  }
}

export const exitCodes = [
  { code: 0, means: 'success' },
  { code: 1, means: 'failure' },
  { code: 2, means: 'invalid arguments or fields (400)' },
  { code: 3, means: 'not signed in (401)' },
  { code: 4, means: 'not allowed (403)' },
  { code: 5, means: 'not found (404)' },
  { code: 6, means: 'conflict with the current state (409)' },
  { code: 7, means: 'the instance is unreachable' },
] as const

const ofStatus: Record<number, number> = { 400: 2, 401: 3, 403: 4, 404: 5, 409: 6 }

export function exitCodeOf(error: unknown): number {
  if (error instanceof Plain) return error.exitCode
  if (error instanceof ApiError) return ofStatus[error.status] ?? 1
  return isUnreachable(error) ? 7 : 1
}

export function explain(error: unknown): { words: string; code?: string; field?: string; requestId?: string } {
  if (error instanceof ApiError) {
    const hint = error.status === 401 ? ' (sign in with: berth login)' : ''
    return { words: error.message + hint, code: error.code, field: error.field, requestId: error.requestId ?? undefined }
  }
  if (isUnreachable(error)) return { words: 'The instance is unreachable. Start it with berth up, or correct --url.' }
  return { words: error instanceof Error ? error.message : String(error) }
}

/** True for the errors that fetch throws if the server is unreachable, or if the connection breaks during a response. */
const isUnreachable = (error: unknown) =>
  error instanceof TypeError && (error.message === 'fetch failed' || error.message === 'terminated')
