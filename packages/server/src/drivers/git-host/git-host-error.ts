/**
 * `unauthorized`: the host takes the credential no longer. `forbidden`: it takes it, but not for this. `limited`: too many calls,
 * `resetAt` says until when. `empty`: the repository has no commit yet. `away`: slow, down or broken. `nonsense`: it answers, but
 * not as this host does.
 */
export type GitHostTrouble =
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'empty'
  | 'conflict'
  | 'refused'
  | 'limited'
  | 'timed_out'
  | 'away'
  | 'nonsense'

/** The message is for people and holds nothing of a credential or an address's query. */
export class GitHostError extends Error {
  override readonly name = 'GitHostError'
  readonly trouble: GitHostTrouble
  readonly resetAt: Date | null
  readonly status: number | null

  constructor(trouble: GitHostTrouble, message: string, more: { resetAt?: Date; status?: number } = {}) {
    super(message)
    this.trouble = trouble
    this.resetAt = more.resetAt ?? null
    this.status = more.status ?? null
  }
}
