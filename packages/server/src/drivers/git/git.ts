import { join } from 'node:path'
import { type Checkout, checkout } from './checkout.ts'
import type { CheckoutOptions } from './checkout-settings.ts'
import { type Commit, History } from './history.ts'
import { HistoryCache } from './history-cache.ts'
import { type Limits, listRefs, type Refs, remoteHead } from './refs.ts'
import { type GitRemote, parseRemote } from './remote.ts'
import { SafeGit, type SafeGitOptions } from './safe-git.ts'
import { forgetKeys } from './ssh-access.ts'

/**
 * Plain git against any https or ssh remote. Every method rejects with an error of `git-errors.ts`, with `ProgramMissing` where
 * git or ssh is not installed, or with the abort; no error, URL, argument, log or file ever contains a credential.
 */
export interface Git {
  /** Throws `RemoteRefused` when the address is not allowed; sends no request. */
  check(url: string): void
  listRefs(remote: GitRemote, limits?: Limits): Promise<Refs>
  /** The newest commit of a branch; without a branch: of HEAD. Null when the branch does not exist. */
  remoteHead(remote: GitRemote, branch?: string, limits?: Limits): Promise<string | null>
  /** Number of commits that `to` (whole id) has and `from` has not; null when unknown, never an estimate. */
  commitsBetween(remote: GitRemote, from: string, to: string, limits?: Limits): Promise<number | null>
  /** Newest first; without a branch: of HEAD. */
  recentCommits(remote: GitRemote, branch: string | undefined, limit: number, limits?: Limits): Promise<Commit[]>
  /** Checks out one commit, or the newest of a branch; complete or not at all. */
  checkout(
    remote: GitRemote,
    wanted: { branch?: string; commit?: string },
    intoFolder: string,
    options?: CheckoutOptions,
  ): Promise<Checkout>
  /** Forgets the pinned SSH key, after a host has legitimately changed it: the next key that it shows is pinned. */
  forgetHostKey(url: string): Promise<void>
  /** Removes caches of remotes that were not used for that long. */
  sweepCaches(olderThanMs: number, now: Date): Promise<void>
}

export function createGit(options: SafeGitOptions): Git {
  const git = new SafeGit(options)
  const cache = new HistoryCache(git, join(options.workFolder, 'cache'))
  const history = new History(git, cache)
  const address = (url: string) => parseRemote(url, options.allowedHttpHosts)
  return {
    check: (url) => void address(url),
    listRefs: (remote, limits) => listRefs(git, remote, limits),
    remoteHead: (remote, branch, limits) => remoteHead(git, remote, branch, limits),
    commitsBetween: (remote, from, to, limits) => history.commitsBetween(remote, from, to, limits),
    recentCommits: (remote, branch, limit, limits) => history.recentCommits(remote, branch, limit, limits),
    checkout: (remote, wanted, intoFolder, settings) => checkout({ git, history }, remote, wanted, intoFolder, settings),
    forgetHostKey: (url) => forgetKeys(address(url), git.knownHostsPath),
    sweepCaches: (olderThanMs, now) => cache.sweep(olderThanMs, now),
  }
}
