import type { CommandResult } from '../shell/command.ts'
import type { History } from './history.ts'
import type { Limits } from './refs.ts'
import type { GitRemote } from './remote.ts'
import type { GitCall, SafeGit } from './safe-git.ts'

export interface CheckoutOptions extends Limits {
  depth?: number
  /** Lines of git's own progress, without any credential. */
  onProgress?: (line: string) => void
  /** Of what is fetched, and of the files that it becomes. */
  maxBytes?: number
  maxFiles?: number
  /** What opens another repository that this one names, if anything does; without it such a one is asked as it is. */
  credentialFor?: (url: string) => Promise<GitRemote['credential'] | undefined>
  /** Where the commit is to be had, when no branch has it and the server gives none by its id. */
  ref?: string
  /** A build may want to ask git about itself. What it does to .git must never be read by a git of ours. */
  keepGitFolder?: boolean
}

export const mostSubmodules = 100
export const checkoutDefaults = { timeoutMs: 600_000, depth: 1, maxBytes: 4_000_000_000, maxFiles: 500_000 }

/** One repository that is being made into files: the one that was asked for, or one that it names. */
export interface Settings {
  git: SafeGit
  history: History
  remote: GitRemote
  url: string
  wanted: { branch?: string; commit?: string }
  options: CheckoutOptions & typeof checkoutDefaults
  deadline: number
  /** What is left for it and all that it names. */
  left: { bytes: number; files: number; submodules: number }
  /** How many repositories are around it. */
  level: number
}

/** A commit whose files are there. */
export interface Tree extends Settings {
  gitFolder: string
  workTree: string
  commit: string
  run(call: Omit<GitCall, 'timeoutMs'>): Promise<CommandResult>
}

export interface FilledTree {
  commit: string
  /** From the folder on that was asked for. */
  links: string[]
  warnings: string[]
}

export const timeLeft = ({ deadline }: Settings) => Math.max(1, Math.ceil(deadline - performance.now()))
