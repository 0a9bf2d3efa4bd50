import type { GitHostProvider, PullRequestState } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

/** A delivery of a git host that was well signed: acted on once, and remembered for as long as it may come again. */
export interface GitDeliveriesTable {
  /** Of the hook that it came by and the host's own id of it. */
  key: string
  provider: GitHostProvider
  kind: string
  /** The branch or pull request that it is about: of two, the newer one counts. */
  subject: string | null
  /** What it says, until it was acted on. */
  delivery: JsonText | null
  /** Whose projects it is about: ids, or `all`. */
  organizations: JsonText<string[] | 'all'>
  receivedAt: Millis
  handledAt: Millis | null
}

/** A pull request that a git host has told of, as far as a project with previews is concerned. */
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
  /** The slug that its environment has, or had. */
  environment: string
  approvedBy: string | null
  /** An approval is for one commit: what a fork pushes afterwards is not covered by it. */
  approvedCommit: string | null
  /** When the host says that it was last changed; null where it does not say. */
  changedAt: Millis | null
  /** Of the last push to it. */
  updatedAt: Millis
}

export interface GitEventsTables {
  gitDeliveries: GitDeliveriesTable
  pullRequests: PullRequestsTable
}

export type GitDeliveryRow = Selectable<GitDeliveriesTable>
export type PullRequestRow = Selectable<PullRequestsTable>
