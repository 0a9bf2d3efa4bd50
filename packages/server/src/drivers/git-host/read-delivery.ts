import type { Delivery, PullRequestDelivery } from './delivery.ts'
import { branchNamed, branchOf, commitOf, nameOf, wordsOf } from './payload.ts'

/** What every delivery is about, whatever it reports. */
export type About = Pick<Delivery, 'id' | 'repository'>

const longestMessage = 5_000
const longestName = 200
const longestTitle = 300
const longestAddress = 2_000
/** As large as databases count with. */
const highestNumber = 2 ** 31 - 1

/** A push as a host tells it. */
export interface SaidPush {
  ref: string | null
  isDeleted: boolean
  after: string | null
  defaultBranch: string | null
  /** Of the newest commit. */
  head(commit: string): { message: string | null; author: string | null }
}

/** Null: it does not say what a push has to say. */
export function pushOf(about: About, { ref, isDeleted, after, head, ...said }: SaidPush): Delivery | null {
  const { repository } = about
  const branch = branchOf(ref)
  if (!repository) return null
  if (!branch) return { ...about, kind: 'ignored', reason: 'Not a branch was pushed' }
  if (isDeleted) return { ...about, kind: 'ignored', reason: 'The branch was deleted' }
  const commit = commitOf(after)
  if (!commit) return null
  const { message, author } = head(commit)
  const words = { message: wordsOf(message, longestMessage) ?? '', author: wordsOf(author, longestName) }
  return { ...about, repository, kind: 'push', branch, defaultBranch: branchNamed(said.defaultBranch), commit, ...words }
}

/** Hosts that have no word for a deleted branch name the commit of zeros. */
export const isZeros = (commit: string | null): boolean => commit !== null && /^0+$/.test(commit)

/** A pull or merge request as a host tells it. */
export interface SaidPullRequest {
  /** What the host calls it. */
  noun: 'pull request' | 'merge request'
  action: PullRequestDelivery['action'] | undefined
  number: number | null
  title: string | null
  htmlUrl: string | null
  author: string | null
  changedAt: string | null
  branch: string | null
  commit: string | null
  targetBranch: string | null
  /** Ids of the repositories that it comes from and goes to. */
  from: number | null
  to: number | null
  sourceRepository: string | null
}

/** Null: it does not say what a pull request has to say. */
export function pullRequestOf(about: About, said: SaidPullRequest): Delivery | null {
  const { repository } = about
  const { noun, action, number, from, to } = said
  if (!repository) return null
  if (!action) return { ...about, kind: 'ignored', reason: `The ${noun} has no new commits and was not closed` }
  const commit = commitOf(said.commit)
  const [branch, targetBranch] = [branchNamed(said.branch), branchNamed(said.targetBranch)]
  if (number === null || number < 1 || number > highestNumber || !branch || !targetBranch || !commit) return null
  return {
    ...about,
    repository,
    kind: 'pull_request',
    action,
    number,
    title: wordsOf(said.title, longestTitle) ?? '',
    htmlUrl: wordsOf(said.htmlUrl, longestAddress),
    author: wordsOf(said.author, longestName),
    changedAt: timeOf(said.changedAt),
    branch,
    commit,
    targetBranch,
    // A fork that was deleted has no id any more: it still is one.
    fromFork: from === null || from !== to,
    sourceRepository: nameOf(said.sourceRepository),
  }
}

function timeOf(text: string | null): number | null {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? null : time
}
