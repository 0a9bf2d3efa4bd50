/** What a user can act on. `detail` is git's own last words, with every credential taken out. */
export class GitError extends Error {
  override readonly name: string = 'GitError'
  readonly detail: string

  constructor(message: string, detail = '') {
    super(message)
    this.detail = detail
  }
}

/** The address itself is not acceptable; nothing was asked. */
export class RemoteRefused extends GitError {
  override readonly name = 'RemoteRefused'

  constructor(reason: string) {
    super(`The git address ${reason}`)
  }
}

/** The host wants a credential, or another one than it got. */
export class GitAuthFailed extends GitError {
  override readonly name = 'GitAuthFailed'
}

/** No such repository (or none that the credential may see), branch or commit. */
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

/** Somebody else may be answering in the host's name: nothing was sent. */
export class GitHostKeyChanged extends GitError {
  override readonly name = 'GitHostKeyChanged'
  readonly host: string
  readonly pinned: readonly string[]
  readonly offered: string | null

  constructor(host: string, pinned: readonly string[], offered: string | null, detail: string) {
    super(
      `${host} shows another SSH host key than before: pinned ${pinned.join(', ') || 'unknown'}, offered ${offered ?? 'unknown'}. ` +
        'If the change is genuine, forget the old key and try again.',
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

/** git failed in a way that we have no words for; `detail` has its own. */
export class GitFailed extends GitError {
  override readonly name = 'GitFailed'
}
