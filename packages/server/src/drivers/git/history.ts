import { createHash } from 'node:crypto'
import { isCommitId, isFullCommitId, sameCommit } from './commit-id.ts'
import { GitError, GitNotFound } from './git-errors.ts'
import type { HistoryCache } from './history-cache.ts'
import { branchRef, type Limits, listRefs } from './refs.ts'
import type { GitRemote } from './remote.ts'
import type { GitCall, SafeGit } from './safe-git.ts'

export interface Commit {
  sha: string
  message: string
  author: string
  committedAt: string
}

const defaultTimeoutMs = 60_000
/** Fetch depths: most queries concern the newest commits; a longer history is fetched only where these are not enough. */
const depths = [50, 1_000]
const maxMessageLength = 5_000

/** Queries of a remote's history, with one time limit for all commands. */
export class History {
  readonly #git: SafeGit
  readonly #cache: HistoryCache

  constructor(git: SafeGit, cache: HistoryCache) {
    this.#git = git
    this.#cache = cache
  }

  /** Newest first. Rejects with `GitNotFound` when there is no such branch. */
  async recentCommits(remote: GitRemote, branch: string | undefined, limit: number, limits: Limits = {}): Promise<Commit[]> {
    const ref = branchRef(branch)
    return this.#withSession(remote, limits, async (session) => {
      const local = `refs/berth/${createHash('sha256').update(ref).digest('hex').slice(0, 40)}`
      await session.fetch(`+${ref}:${local}`, Math.max(limit, depths[0]!))
      const format = '--format=%H%x00%an%x00%cI%x00%B%x00'
      const fields = (await session.read(['log', `--max-count=${limit}`, format, local, '--'])).split('\0')
      return Array.from({ length: Math.floor(fields.length / 4) }, (_, index) => toCommit(fields.slice(index * 4, index * 4 + 4)))
    })
  }

  /**
   * Number of commits that `to` has and `from` has not. Null when it cannot be determined: never an estimate, and never
   * "behind" because of a failure.
   */
  async commitsBetween(remote: GitRemote, from: string, to: string, limits: Limits = {}): Promise<number | null> {
    if (sameCommit(from, to)) return 0
    if (!isCommitId(from) || !isFullCommitId(to)) return null
    return this.#withSession(remote, limits, (session) => countBetween(session, from, to)).catch((error) => {
      if (error instanceof GitError) return null
      throw error
    })
  }

  /** The full id of a commit of the remote, found by its first digits among the branches' newest commits. */
  async fullCommitId(remote: GitRemote, short: string, branch: string | undefined, limits: Limits = {}): Promise<string> {
    if (isFullCommitId(short)) return short.toLowerCase()
    const { shown } = this.#git.address(remote)
    const notFound = new GitNotFound(
      'commit',
      `No commit of ${shown}, or more than one, begins with ${short}. Enter the full id of the commit.`,
    )
    if (!isCommitId(short)) throw notFound
    const { heads } = await listRefs(this.#git, remote, limits)
    const matching = new Set(heads.filter(({ commit }) => sameCommit(commit, short)).map(({ commit }) => commit))
    if (matching.size === 1) return [...matching][0]!
    if (matching.size > 1) throw notFound
    return this.#withSession(remote, limits, async (session) => {
      await session.fetch(`+${branchRef(branch)}:refs/berth/resolve`, depths.at(-1)!)
      const found = await session.resolve(short)
      if (!found) throw notFound
      return found
    })
  }

  async #withSession<Result>(
    remote: GitRemote,
    limits: Limits,
    work: (session: HistorySession) => Promise<Result>,
  ): Promise<Result> {
    const address = this.#git.address(remote)
    const deadline = performance.now() + (limits.timeoutMs ?? defaultTimeoutMs)
    return this.#cache.withRepository(
      address,
      (gitFolder) => work(new HistorySession(this.#git, { remote, url: address.url, gitFolder, deadline, abort: limits.abort })),
      limits.abort,
    )
  }
}

async function countBetween(session: HistorySession, from: string, to: string): Promise<number | null> {
  for (const depth of depths) {
    await session.fetch(`+${to}:refs/berth/to`, depth)
    const count = await session.count(from, to)
    if (count !== null) return count
  }
  // The branch was rewritten: the server may still serve the old commit by its id, and with it the merge base.
  if (!isFullCommitId(from)) return null
  await session.fetch(`+${from}:refs/berth/from`, depths.at(-1)!)
  return session.count(from, to)
}

interface SessionSettings {
  remote: GitRemote
  url: string
  gitFolder: string
  deadline: number
  abort?: AbortSignal
}

class HistorySession {
  readonly #git: SafeGit
  readonly #settings: SessionSettings

  constructor(git: SafeGit, settings: SessionSettings) {
    this.#git = git
    this.#settings = settings
  }

  /** Fetches commits without trees and files; a server that does not support the filter sends them too. */
  async fetch(refspec: string, depth: number): Promise<void> {
    const { remote, url } = this.#settings
    const options = ['--no-tags', '--no-write-fetch-head', '--quiet', `--depth=${depth}`, '--filter=tree:0']
    await this.#run({ args: ['fetch', ...options, '--', url, refspec], remote })
  }

  async read(args: readonly string[]): Promise<string> {
    return (await this.#run({ args, maxOutputBytes: 20_000_000 })).stdout
  }

  /** The full id, when exactly one local commit begins with these digits. */
  async resolve(commit: string): Promise<string | null> {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${commit}^{commit}`]
    const { stdout, exitCode } = await this.#run({ args, acceptExitCodes: [0, 1, 128] })
    return exitCode === 0 ? stdout.trim() : null
  }

  /** Null where the local history ends too early: a commit without parents is the boundary of the shallow fetch. */
  async count(from: string, to: string): Promise<number | null> {
    const base = await this.resolve(from)
    if (!base) return null
    const max = depths.at(-1)! + 1
    const lines = (await this.read(['rev-list', '--parents', `--max-count=${max}`, to, `^${base}`, '--']))
      .split('\n')
      .filter(Boolean)
    if (lines.length >= max) return null
    const isShallow =
      lines.some((line) => !line.includes(' ')) && (await this.read(['rev-parse', '--is-shallow-repository'])).trim() === 'true'
    return isShallow ? null : lines.length
  }

  #run(call: Omit<GitCall, 'timeoutMs'>) {
    const { gitFolder, deadline, abort } = this.#settings
    return this.#git.run({ ...call, gitFolder, abort, timeoutMs: Math.max(1, deadline - performance.now()) })
  }
}

function toCommit([sha = '', author = '', committedAt = '', message = '']: string[]): Commit {
  return {
    sha: sha.trim(),
    author,
    committedAt: new Date(committedAt).toISOString(),
    message: message.trim().slice(0, maxMessageLength),
  }
}
