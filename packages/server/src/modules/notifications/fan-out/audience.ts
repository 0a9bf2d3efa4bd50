import { type CategoryId, type ChannelKind, categories } from '@berth/contract'

/** A channel of a user, with the fields that decide whether it is notified. */
export interface Candidate {
  id: string
  kind: ChannelKind
  enabled: boolean
  verified: boolean
  /** The user's subscription of the category for this channel; null: none. */
  subscribed: boolean | null
}

/** The organisation's default, else that of the category. */
export const isOnByDefault = (category: CategoryId, ofOrganization: boolean | undefined): boolean =>
  ofOrganization ?? categories.find(({ id }) => id === category)?.defaultEnabled ?? false

/**
 * The channels of a user to notify; `channels` oldest first. A subscription decides for its channel. Without one, the default
 * covers the e-mail channels and the oldest usable in-app channel: a second entry in the same feed would be redundant.
 */
export function channelsToNotify<C extends Candidate>(channels: readonly C[], onByDefault: boolean): C[] {
  const usable = channels.filter(({ enabled, verified }) => enabled && verified)
  const feed = usable.find(({ kind }) => kind === 'in_app')
  return usable.filter((channel) => channel.subscribed ?? (onByDefault && (channel.kind === 'email' || channel === feed)))
}

/** Whether the default needs an in-app channel that the user lacks. A user who disabled theirs does not lack one. */
export const lacksFeed = (channels: readonly Candidate[], onByDefault: boolean): boolean =>
  onByDefault && !channels.some(({ kind }) => kind === 'in_app')
