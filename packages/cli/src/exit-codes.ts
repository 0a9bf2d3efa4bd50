import { ApiError } from '@berth/contract/client'
import { errorText } from './error-text.ts'

/** A user error, printed as one line without a stack trace. */
export class CliError extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** No token is known for the instance. Whether the instance is reachable is not known either. */
export class NotSignedIn extends CliError {
  readonly url: string
  readonly isFromLink: boolean
  constructor(url: string, isFromLink = false) {
    super(`You are not signed in to ${url}. Run berth login, or set BERTH_TOKEN.`, 3)
    this.url = url
    this.isFromLink = isFromLink
  }
}

export class Unreachable extends CliError {
  /** `isFromLink`: the address is from the folder's link, so the user did not type it. */
  constructor(url: string, isFromLink = false) {
    const remedy = isFromLink
      ? 'This folder is linked to a project there. Start it with berth up, name another instance with --url, or run berth unlink.'
      : 'Start it with berth up, or correct --url.'
    super(`The instance at ${url} is unreachable. ${remedy}`, 7)
  }
}

const probeMs = 5_000

/** The error to report: signing in does not help while the instance is unreachable, so that is reported instead. */
export async function unreachableFirst(error: unknown): Promise<unknown> {
  if (!(error instanceof NotSignedIn)) return error
  return fetch(`${error.url}/api/health`, { signal: AbortSignal.timeout(probeMs) }).then(
    () => error,
    () => new Unreachable(error.url, error.isFromLink),
  )
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
  { code: 8, means: 'an upgrade failed and the previous version serves again' },
] as const

const exitCodeByStatus: Record<number, number> = { 400: 2, 401: 3, 403: 4, 404: 5, 409: 6 }

export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode
  if (error instanceof ApiError) return exitCodeByStatus[error.status] ?? 1
  return isUnreachable(error) ? 7 : 1
}

export function explain(error: unknown): { message: string; code?: string; field?: string; requestId?: string } {
  if (error instanceof ApiError) {
    return { message: error.message, code: error.code, field: error.field, requestId: error.requestId ?? undefined }
  }
  if (isUnreachable(error)) return { message: 'The instance is unreachable. Start it with berth up, or correct --url.' }
  return { message: errorText(error) }
}

/** True for the errors that fetch throws if the server is unreachable, or if the connection breaks during a response. */
export const isUnreachable = (error: unknown) =>
  error instanceof TypeError && (error.message === 'fetch failed' || error.message === 'terminated')
