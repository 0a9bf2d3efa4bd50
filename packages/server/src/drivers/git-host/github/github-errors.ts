import { GitHostError } from '../git-host-error.ts'

/** The shape of Octokit's error; read without its class, which is loaded later than this file. */
interface RequestFailure {
  status: number
  message: string
  cause?: unknown
  response?: { headers: Record<string, string | number | undefined>; data?: unknown }
}

const isRequestFailure = (error: unknown): error is Error & RequestFailure =>
  error instanceof Error && 'status' in error && typeof error.status === 'number'

export function asGitHostError(error: unknown, title: string): unknown {
  if (error instanceof GitHostError) return error
  if (!(error instanceof Error)) return error
  if (error.cause instanceof GitHostError) return error.cause
  if (!isRequestFailure(error)) return error
  const { status, response } = error
  const detail = errorDetail(response?.data)
  const resetAt = limitedUntil(error)
  if (resetAt)
    return new GitHostError('limited', `${title} rate limit reached. Try again after ${resetAt.toISOString()}`, {
      status,
      resetAt,
    })
  const extra = { status }
  if (status === 401) return new GitHostError('unauthorized', `${title} no longer accepts the stored login`, extra)
  if (status === 403) return new GitHostError('forbidden', `${title} denied the request${detail ? `: ${detail}` : ''}`, extra)
  if ((status === 404 || status === 409) && /\brepository is empty\b/i.test(detail))
    return new GitHostError('empty', `${title}: the repository is empty. Push a first commit.`, extra)
  if (status === 404 || status === 410 || status === 451)
    return new GitHostError('not_found', `${title} did not find it: it does not exist, or the login has no access`, extra)
  if (status === 422 || status === 409)
    return new GitHostError(
      isTaken(response?.data) ? 'conflict' : 'refused',
      `${title} rejected the request${detail ? `: ${detail}` : ''}`,
      extra,
    )
  if (status === 500 && !response) return new GitHostError('unreachable', `${title} is unreachable`)
  if (status >= 500) return new GitHostError('unreachable', `${title} answers ${status}: it is down or overloaded`, extra)
  return new GitHostError('refused', `${title} answers ${status}${detail ? `: ${detail}` : ''}`, extra)
}

/** The end of a rate limit: primary limits name the time, secondary ones a wait. */
function limitedUntil({ status, message, response }: RequestFailure): Date | null {
  if (status !== 403 && status !== 429) return null
  const headers = response?.headers ?? {}
  const wait = Number(headers['retry-after'])
  if (Number.isFinite(wait) && wait > 0) return new Date(Date.now() + Math.min(wait, 86_400) * 1000)
  const reset = Number(headers['x-ratelimit-reset'])
  if (String(headers['x-ratelimit-remaining']) === '0' && Number.isFinite(reset)) return new Date(reset * 1000)
  return status === 429 || /\brate limit\b/i.test(message) ? new Date(Date.now() + 60_000) : null
}

const isTaken = (data: unknown): boolean => /already exists/i.test(JSON.stringify(data ?? ''))

function errorDetail(data: unknown): string {
  if (typeof data !== 'object' || data === null || !('message' in data) || typeof data.message !== 'string') return ''
  const errors = 'errors' in data && Array.isArray(data.errors) ? data.errors : []
  const details = errors
    .map((one) => (typeof one === 'string' ? one : typeof one?.message === 'string' ? one.message : ''))
    .filter(Boolean)
  return [data.message, ...details]
    .join('; ')
    .replace(/[\u0000-\u001f\u007f\p{Cf}]/gu, ' ')
    .slice(0, 300)
}
