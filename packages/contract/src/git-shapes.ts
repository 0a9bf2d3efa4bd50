import { type Static, Type } from 'typebox'
import { maybe, nullable, Time } from './shape.ts'

/** A valid git branch name (git-check-ref-format). It cannot be taken for a command-line option. */
export const Branch = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern:
    '^(?!-|@$)(?!.*(\\.\\.|@\\{|\\.lock(/|$)|\\.$))(?!.*(^|/)(\\.|/|$))[^\\u0000-\\u0020~^:?*\\[\\\\\\u007f-\\u009f\\p{Cf}]+$',
})
export const GitName = Type.String({ minLength: 1, maxLength: 100, pattern: '^(?!-)(?!\\.{1,2}$)[A-Za-z0-9_.-]+$' })
/** An owner may be a GitLab group path. */
export const GitOwner = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^(?!-)(?!\\.{1,2}(/|$))[A-Za-z0-9_.-]+(/(?!\\.{1,2}(/|$))[A-Za-z0-9_.-]+)*$',
})

export const CloneCredential = Type.Object({ hasToken: Type.Boolean(), token: maybe, setAt: nullable(Time) })
export type CloneCredential = Static<typeof CloneCredential>

export const Commit = Type.Object({ sha: Type.String(), message: Type.String(), author: Type.String(), committedAt: Time })
export const LinkedRepository = Type.Object({
  provider: maybe,
  owner: maybe,
  repo: maybe,
  branch: maybe,
  url: maybe,
  autoDeploy: Type.Boolean(),
  webhook: Type.Object({ active: Type.Boolean(), url: maybe, lastDeliveryAt: nullable(Time), problem: maybe }),
  recentCommits: Type.Array(Commit),
})
export const GitLink = Type.Object({ owner: GitOwner, repo: GitName, branch: Type.Optional(nullable(Branch)) })
export const CommitStatus = Type.Object({
  deployedCommit: maybe,
  remoteCommit: maybe,
  branch: maybe,
  upToDate: nullable(Type.Boolean()),
  behindBy: nullable(Type.Integer()),
  reason: Type.Optional(Type.String()),
})
export const ProjectBranch = Type.Object({
  name: Type.String(),
  commit: Type.String(),
  protected: Type.Boolean(),
  default: Type.Boolean(),
})
