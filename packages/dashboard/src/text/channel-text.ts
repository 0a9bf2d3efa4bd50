import type { Channel, ChannelKind } from '@berth/contract'

export const kindText: Record<ChannelKind, string> = {
  email: 'e-mail',
  webhook: 'webhook',
  slack: 'Slack',
  in_app: 'in-app',
}

export const channelTarget = ({ kind, config }: Pick<Channel, 'kind' | 'config'>): string =>
  kind === 'in_app' ? 'in-app notifications' : (config.address ?? config.url ?? config.webhookUrl ?? '')
