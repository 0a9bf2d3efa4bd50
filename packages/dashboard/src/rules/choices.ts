import type { Channel, NotificationCategory, OrgDefault, Subscription } from '@berth/contract'

/** Whether the category reaches the channel: an explicit choice, else the organisation's default, else the category's own. */
export function isChosen(
  category: Pick<NotificationCategory, 'id' | 'defaultEnabled'>,
  channel: Pick<Channel, 'id' | 'kind'>,
  subscriptions: readonly Subscription[],
  defaults: readonly OrgDefault[],
): boolean {
  const explicit = subscriptions.find((one) => one.category === category.id && one.channelId === channel.id)
  if (explicit) return explicit.enabled
  // Defaults reach people here and by e-mail; a webhook or chat gets what was asked for.
  if (channel.kind !== 'in_app' && channel.kind !== 'email') return false
  return defaultOf(category, defaults)
}

export const defaultOf = (
  category: Pick<NotificationCategory, 'id' | 'defaultEnabled'>,
  defaults: readonly OrgDefault[],
): boolean => defaults.find((one) => one.category === category.id)?.defaultEnabled ?? category.defaultEnabled
