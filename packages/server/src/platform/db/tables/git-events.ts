import type { GitHostProvider, PullRequestState } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

/** A webhook delivery with a valid signature: handled once, and remembered for as long as the git host may send it again. */
export interface GitDeliveriesTable {
  /** The webhook it arrived at and the git host's delivery id. */
  key: string
  provider: GitHostProvider
  kind: string
  /** The branch or pull request it is about: of two deliveries, the newer one counts. */
  subject: string | null
  /** The content, until it was handled. */
  delivery: JsonText | null
  /** Organisations whose projects it concerns: ids, or `all`. */
  organizations: JsonText<string[] | 'all'>
  receivedAt: Millis
  handledAt: Millis | null
}

/** A pull request that a git host reported, for a project with previews. */
export interface PullRequestsTable {
  projectId: string
  number: number
  title: string
  author: string
  branch: string
  commit: string
  fromFork: Flag
  state: PullRequestState
  reason: string | null
  /** The slug of its environment, current or former. */
  environment: string
  approvedBy: string | null
  /** An approval covers one commit, not later pushes of the fork. */
  approvedCommit: string | null
  /** Last change according to the git host; null if the host does not report it. */
  changedAt: Millis | null
  /** Time of the last push to it. */
  updatedAt: Millis
}

export interface GitEventsTables {
  gitDeliveries: GitDeliveriesTable
  pullRequests: PullRequestsTable
}

export type GitDeliveryRow = Selectable<GitDeliveriesTable>
export type PullRequestRow = Selectable<PullRequestsTable>
