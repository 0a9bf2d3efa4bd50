/**
 * `unauthorized`: the host no longer accepts the credential. `forbidden`: the credential lacks the permission. `limited`: rate
 * limit, until `resetAt`. `empty`: the repository has no commit yet. `refused`: the host or Berth rejected the request.
 * `invalidResponse`: the response is not in this host's format.
 */
export type GitHostErrorKind =
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'empty'
  | 'conflict'
  | 'refused'
  | 'limited'
  | 'timed_out'
  | 'unreachable'
  | 'invalidResponse'

/** The message is for users, and contains no credential and no query of a URL. */
export class GitHostError extends Error {
  override readonly name = 'GitHostError'
  readonly errorKind: GitHostErrorKind
  readonly resetAt: Date | null
  readonly status: number | null

  constructor(errorKind: GitHostErrorKind, message: string, details: { resetAt?: Date; status?: number } = {}) {
    super(message)
    this.errorKind = errorKind
    this.resetAt = details.resetAt ?? null
    this.status = details.status ?? null
  }
}
