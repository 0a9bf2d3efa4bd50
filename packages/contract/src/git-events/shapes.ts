import { type Static, Type } from 'typebox'
import { maybe, nullable, oneOf, Time } from '../shape.ts'

/** The result of a git host's webhook delivery. */
export const WebhookReceipt = Type.Object({
  outcome: oneOf('accepted', 'ignored', 'duplicate', 'pong'),
  reason: nullable(Type.String()),
})
export type WebhookReceipt = Static<typeof WebhookReceipt>

/**
 * `active`: it has a preview. `waiting`: it comes from a fork, and a user must approve it. `blocked`: a limit prevents the preview,
 * and `reason` says which. `expired`: it had no push for longer than previews are kept.
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
  /** The user who allowed a fork's code to run, and for which commit. */
  approvedBy: maybe,
  approvedCommit: maybe,
  updatedAt: Time,
})
export type PullRequest = Static<typeof PullRequest>
