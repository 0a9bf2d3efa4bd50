import { type CategoryId, type ChannelKind, categories } from '@berth/contract'

/** One channel of a person, as far as it matters for whom to tell. */
export interface Candidate {
  id: string
  kind: ChannelKind
  enabled: boolean
  verified: boolean
  /** The person's own word on the category for this channel; null: none. */
  subscribed: boolean | null
}

/** The organisation's word, else the category's own. */
export const isOnByDefault = (category: CategoryId, ofOrganization: boolean | undefined): boolean =>
  ofOrganization ?? categories.find(({ id }) => id === category)?.defaultEnabled ?? false

/**
 * Which of a person's channels get it; `channels` oldest first. A subscription decides for its channel. Without one, the
 * default reaches the person's e-mail channels and the oldest in-app channel in use: a second entry in the same feed would
 * tell nobody anything.
 */
export function channelsToTell<C extends Candidate>(channels: readonly C[], onByDefault: boolean): C[] {
  const usable = channels.filter(({ enabled, verified }) => enabled && verified)
  const feed = usable.find(({ kind }) => kind === 'in_app')
  return usable.filter((channel) => channel.subscribed ?? (onByDefault && (channel.kind === 'email' || channel === feed)))
}

/** The feed is there for everyone: the default finds an in-app channel, unless the person has one and put it out of use. */
export const lacksFeed = (channels: readonly Candidate[], onByDefault: boolean): boolean =>
  onByDefault && !channels.some(({ kind }) => kind === 'in_app')
