import { GitHostError } from '../../drivers/git-host/git-host-error.ts'
import { Failure } from '../../platform/failure.ts'

/** Converts a git host error to an API failure; other errors are returned unchanged. */
export function toApiFailure(error: unknown): unknown {
  if (!(error instanceof GitHostError)) return error
  const { errorKind, message, resetAt } = error
  const more = { message, cause: error }
  switch (errorKind) {
    case 'unauthorized':
      return new Failure('no_source', { ...more, message: `${message}. Connect it again.` })
    case 'forbidden':
      return new Failure('forbidden', more)
    case 'not_found':
    case 'empty':
      return new Failure('not_found', more)
    case 'conflict':
      return new Failure('conflict', more)
    case 'refused':
      return new Failure('validation_failed', more)
    case 'limited':
      return new Failure('git_host_limited', { ...more, retryAfterSeconds: secondsUntil(resetAt) })
    case 'timed_out':
    case 'unreachable':
    case 'invalidResponse':
      return new Failure('remote_unreachable', more)
  }
}

export async function withApiFailures<Result>(work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    throw toApiFailure(error)
  })
}

const secondsUntil = (time: Date | null): number => Math.max(1, Math.ceil(((time?.getTime() ?? 0) - Date.now()) / 1000))
