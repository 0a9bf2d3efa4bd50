import type { Channel, ChannelKind } from '@berth/contract'

export const kindWords: Record<ChannelKind, string> = {
  email: 'e-mail',
  webhook: 'webhook',
  slack: 'Slack',
  in_app: 'here',
}

export const channelPlace = ({ kind, config }: Pick<Channel, 'kind' | 'config'>): string =>
  kind === 'in_app' ? 'in-app notifications' : (config.address ?? config.url ?? config.webhookUrl ?? '')
