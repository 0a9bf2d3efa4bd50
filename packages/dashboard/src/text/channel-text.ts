import type { Channel, ChannelKind } from '@berth/contract'

export const kindText: Record<ChannelKind, string> = {
  email: 'e-mail',
  webhook: 'webhook',
  slack: 'Slack',
  in_app: 'in-app',
}

/** `webhook: https://…`. */
export const channelText = ({ kind, config }: Pick<Channel, 'kind' | 'config'>): string =>
  kind === 'in_app' ? 'shown in this dashboard' : `${kindText[kind]}: ${config.address ?? config.url ?? config.webhookUrl ?? ''}`
