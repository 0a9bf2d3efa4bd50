import { type Static, Type } from 'typebox'
import { maybe, nullable, oneOf, Time } from '../shape.ts'

/** What became of a delivery of the git host. */
export const WebhookReceipt = Type.Object({
  outcome: oneOf('accepted', 'ignored', 'duplicate', 'pong'),
  reason: nullable(Type.String()),
})
export type WebhookReceipt = Static<typeof WebhookReceipt>

/**
 * `active`: it has a preview. `waiting`: it comes from a fork, and somebody has to approve it. `blocked`: there is no room
 * for it, and `reason` says why. `expired`: nobody pushed to it for longer than previews are kept.
 */
export const PullRequestState = oneOf('active', 'waiting', 'blocked', 'expired', 'closed')
export type PullRequestState = Static<typeof PullRequestState>

export const PullRequest = Type.Object({
  number: Type.Integer(),
  title: Type.String(),
  author: Type.String(),
  branch: Type.String(),
  commit: Type.String(),
  fork: Type.Boolean(),
  state: PullRequestState,
  /** Why it has no preview, and what to do. */
  reason: maybe,
  /** The slug of its environment. */
  environment: maybe,
  url: maybe,
  /** Who let a fork's code run, and which commit. */
  approvedBy: maybe,
  approvedCommit: maybe,
  updatedAt: Time,
})
export type PullRequest = Static<typeof PullRequest>
