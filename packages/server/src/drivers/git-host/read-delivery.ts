import type { Delivery, PullRequestDelivery } from './delivery.ts'
import { branchOf, cleanText, Fields, parseRepositoryName, validBranch, validCommit } from './payload.ts'

/** Id and repository of a delivery. */
export type DeliverySource = Pick<Delivery, 'id' | 'repository'>

const maxMessageLength = 5_000
const maxNameLength = 200
const maxTitleLength = 300
const maxAddressLength = 2_000
/** Largest integer that the databases' columns store. */
const highestNumber = 2 ** 31 - 1

/** A push as the host reports it. */
export interface DeliveredPush {
  ref: string | null
  isDeleted: boolean
  after: string | null
  defaultBranch: string | null
  /** Message and author of the newest commit. */
  head(commit: string): { message: string | null; author: string | null }
}

/** Null: a required field of a push is missing. */
export function pushOf(source: DeliverySource, { ref, isDeleted, after, head, ...reported }: DeliveredPush): Delivery | null {
  const { repository } = source
  const branch = branchOf(ref)
  if (!repository) return null
  if (!branch) return { ...source, kind: 'ignored', reason: 'The push is not to a branch' }
  if (isDeleted) return { ...source, kind: 'ignored', reason: 'The branch was deleted' }
  const commit = validCommit(after)
  if (!commit) return null
  const { message, author } = head(commit)
  const texts = { message: cleanText(message, maxMessageLength) ?? '', author: cleanText(author, maxNameLength) }
  return { ...source, repository, kind: 'push', branch, defaultBranch: validBranch(reported.defaultBranch), commit, ...texts }
}

/** Hosts that do not flag a deleted branch send the all-zero commit. */
export const isZeroCommit = (commit: string | null): boolean => commit !== null && /^0+$/.test(commit)

/** A pull or merge request as the host reports it. */
export interface DeliveredPullRequest {
  /** The host's own term. */
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
  /** Ids of the source and target repositories. */
  from: number | null
  to: number | null
  sourceRepository: string | null
}

/** Null: a required field of a pull request is missing. */
export function pullRequestOf(source: DeliverySource, reported: DeliveredPullRequest): Delivery | null {
  const { repository } = source
  const { noun, action, number, from, to } = reported
  if (!repository) return null
  if (!action) return { ...source, kind: 'ignored', reason: `The ${noun} has no new commits and was not closed` }
  const commit = validCommit(reported.commit)
  const [branch, targetBranch] = [validBranch(reported.branch), validBranch(reported.targetBranch)]
  if (number === null || number < 1 || number > highestNumber || !branch || !targetBranch || !commit) return null
  return {
    ...source,
    repository,
    kind: 'pull_request',
    action,
    number,
    title: cleanText(reported.title, maxTitleLength) ?? '',
    htmlUrl: cleanText(reported.htmlUrl, maxAddressLength),
    author: cleanText(reported.author, maxNameLength),
    changedAt: timeOf(reported.changedAt),
    branch,
    commit,
    targetBranch,
    // A deleted fork has no id any more; it still counts as a fork.
    fromFork: from === null || from !== to,
    sourceRepository: parseRepositoryName(reported.sourceRepository),
  }
}

/** Reads a host's list of open pull requests. An entry without a required field is left out, such as one without commits. */
export function openPullRequests(list: unknown, read: (value: Fields) => Delivery | null): PullRequestDelivery[] | null {
  if (!Array.isArray(list)) return null
  const found = list.map((value) => read(new Fields(value)))
  return found.filter((delivery) => delivery?.kind === 'pull_request')
}

function timeOf(text: string | null): number | null {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? null : time
}
