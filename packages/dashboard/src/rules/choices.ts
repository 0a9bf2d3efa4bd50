import type { Channel, NotificationCategory, OrgDefault, Subscription } from '@berth/contract'

/** Whether the channel gets this category: the user's choice, else the organisation's default, else the category's default. */
export function isChosen(
  category: Pick<NotificationCategory, 'id' | 'defaultEnabled'>,
  channel: Pick<Channel, 'id' | 'kind'>,
  subscriptions: readonly Subscription[],
  defaults: readonly OrgDefault[],
): boolean {
  const explicit = subscriptions.find((one) => one.category === category.id && one.channelId === channel.id)
  if (explicit) return explicit.enabled
  // Defaults apply only to in-app and e-mail channels. A webhook or chat gets only the chosen categories.
  if (channel.kind !== 'in_app' && channel.kind !== 'email') return false
  return defaultOf(category, defaults)
}

export const defaultOf = (
  category: Pick<NotificationCategory, 'id' | 'defaultEnabled'>,
  defaults: readonly OrgDefault[],
): boolean => defaults.find((one) => one.category === category.id)?.defaultEnabled ?? category.defaultEnabled
