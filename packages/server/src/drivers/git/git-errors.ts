/** An error that a user can act on. `detail` is the end of git's own output, with every credential removed. */
export class GitError extends Error {
  override readonly name: string = 'GitError'
  readonly detail: string

  constructor(message: string, detail = '') {
    super(message)
    this.detail = detail
  }
}

/** The address itself is not allowed; no request was sent. */
export class RemoteRefused extends GitError {
  override readonly name = 'RemoteRefused'

  constructor(reason: string) {
    super(`The git address ${reason}`)
  }
}

/** The host requires a credential, or refused the given one. */
export class GitAuthFailed extends GitError {
  override readonly name = 'GitAuthFailed'
}

/** The repository, branch or commit does not exist, or the credential has no access to it. */
export class GitNotFound extends GitError {
  override readonly name = 'GitNotFound'
  readonly what: 'repository' | 'branch' | 'commit'

  constructor(what: GitNotFound['what'], message: string, detail = '') {
    super(message, detail)
    this.what = what
  }
}

export class GitUnreachable extends GitError {
  override readonly name = 'GitUnreachable'
}

export class GitTimedOut extends GitError {
  override readonly name = 'GitTimedOut'
}

/** The host has another key than the pinned one, so an attacker may be answering in its place: nothing was sent. */
export class GitHostKeyChanged extends GitError {
  override readonly name = 'GitHostKeyChanged'
  readonly host: string
  readonly pinned: readonly string[]
  readonly offered: string | null

  constructor(host: string, pinned: readonly string[], offered: string | null, detail: string) {
    super(
      `${host} shows another SSH host key than before: pinned ${pinned.join(', ') || 'unknown'}, offered ${offered ?? 'unknown'}. ` +
        'If the change is expected, remove the old key and try again.',
      detail,
    )
    this.host = host
    this.pinned = pinned
    this.offered = offered
  }
}

export class GitTooLarge extends GitError {
  override readonly name = 'GitTooLarge'
}

/** git failed for an unknown reason; `detail` has its output. */
export class GitFailed extends GitError {
  override readonly name = 'GitFailed'
}
