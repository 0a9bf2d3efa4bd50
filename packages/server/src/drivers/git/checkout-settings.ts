import type { CommandResult } from '../shell/command.ts'
import type { History } from './history.ts'
import type { Limits } from './refs.ts'
import type { GitRemote } from './remote.ts'
import type { GitCall, SafeGit } from './safe-git.ts'

export interface CheckoutOptions extends Limits {
  depth?: number
  /** Receives lines of git's own progress, without any credential. */
  onProgress?: (line: string) => void
  /** Limit for the fetched data, and for the files of the checkout. */
  maxBytes?: number
  maxFiles?: number
  /**
   * Returns the credential for another repository that this one names, if any; absent: such a repository is fetched without
   * one.
   */
  credentialFor?: (url: string) => Promise<GitRemote['credential'] | undefined>
  /** Ref that has the commit, when no branch has it and the server does not serve commits by id. */
  ref?: string
  /** Keeps .git, since a build may run git. A build may modify it, so Berth's own git must never read it again. */
  keepGitFolder?: boolean
}

export const maxSubmodules = 100
export const checkoutDefaults = { timeoutMs: 600_000, depth: 1, maxBytes: 4_000_000_000, maxFiles: 500_000 }

/** Settings of one repository's checkout: the requested one, or a submodule. */
export interface Settings {
  git: SafeGit
  history: History
  remote: GitRemote
  url: string
  wanted: { branch?: string; commit?: string }
  options: CheckoutOptions & typeof checkoutDefaults
  deadline: number
  /** Remaining limits for the repository and its submodules. */
  remaining: { bytes: number; files: number; submodules: number }
  /** Nesting depth of the submodule; 0: the requested repository. */
  level: number
}

/** A commit whose files are checked out. */
export interface Tree extends Settings {
  gitFolder: string
  workTree: string
  commit: string
  run(call: Omit<GitCall, 'timeoutMs'>): Promise<CommandResult>
}

export interface FilledTree {
  commit: string
  /** Paths relative to the requested folder. */
  links: string[]
  warnings: string[]
}

export const remainingMs = ({ deadline }: Settings) => Math.max(1, Math.ceil(deadline - performance.now()))
