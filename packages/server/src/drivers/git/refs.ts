import { isBranchName } from './commit-id.ts'
import { GitFailed, GitNotFound } from './git-errors.ts'
import type { GitRemote } from './remote.ts'
import type { SafeGit } from './safe-git.ts'

export interface Limits {
  timeoutMs?: number
  abort?: AbortSignal
}

export interface Refs {
  /** Null in an empty repository, or where HEAD names no branch. */
  defaultBranch: string | null
  heads: { name: string; commit: string }[]
}

const defaultTimeoutMs = 30_000
/** Output limit, some 200,000 branches. */
const maxOutputBytes = 20_000_000

export async function listRefs(git: SafeGit, remote: GitRemote, limits: Limits = {}): Promise<Refs> {
  const lines = await readRemoteRefs(git, remote, ['HEAD', 'refs/heads/*'], limits)
  const heads = lines.flatMap(([commit, ref]) =>
    ref.startsWith(headsPrefix) ? [{ name: ref.slice(headsPrefix.length), commit }] : [],
  )
  const symbolic = lines.find(([value, ref]) => ref === 'HEAD' && value.startsWith(`ref: ${headsPrefix}`))
  return { defaultBranch: symbolic?.[0].slice(`ref: ${headsPrefix}`.length) ?? null, heads }
}

/** The commit of a branch, or of HEAD without one; null when there is no such branch. */
export async function remoteHead(
  git: SafeGit,
  remote: GitRemote,
  branch: string | undefined,
  limits: Limits = {},
): Promise<string | null> {
  const wantedRef = branchRef(branch)
  const lines = await readRemoteRefs(git, remote, [wantedRef], limits)
  return lines.find(([value, ref]) => ref === wantedRef && !value.startsWith('ref: '))?.[0] ?? null
}

export function branchRef(branch: string | undefined): string {
  if (branch === undefined) return 'HEAD'
  if (!isBranchName(branch))
    throw new GitNotFound('branch', `${JSON.stringify(branch.slice(0, 100))} cannot be the name of a branch`)
  return `${headsPrefix}${branch}`
}

const headsPrefix = 'refs/heads/'

async function readRemoteRefs(
  git: SafeGit,
  remote: GitRemote,
  patterns: string[],
  limits: Limits,
): Promise<[value: string, ref: string][]> {
  const { url } = git.address(remote)
  const { stdout, truncated } = await git.run({
    args: ['ls-remote', '--symref', '--', url, ...patterns],
    remote,
    timeoutMs: limits.timeoutMs ?? defaultTimeoutMs,
    abort: limits.abort,
    maxOutputBytes,
  })
  if (truncated) throw new GitFailed(`${git.address(remote).shown} has too many branches`)
  const lines = stdout.split('\n').map((line) => line.split('\t'))
  return lines.flatMap(([value, ref]) => (value && ref ? [[value, ref] as [string, string]] : []))
}
