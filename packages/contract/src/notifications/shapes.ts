import { type Static, Type } from 'typebox'
import { describeFields } from '../describe.ts'
import { limits } from '../limits.ts'
import { byKind, filledText, Id, nullable, oneOf, pageQuery, secret, Time, text } from '../shape.ts'
import { categoryIds } from './categories.ts'

export const Category = oneOf(...categoryIds)
export const ChannelKind = oneOf('email', 'webhook', 'in_app', 'slack')
export type ChannelKind = Static<typeof ChannelKind>

export const NotificationCategory = Type.Object({
  id: Category,
  label: Type.String(),
  description: Type.String(),
  defaultEnabled: Type.Boolean(),
})
export type NotificationCategory = Static<typeof NotificationCategory>

/** The part of a channel's config that a read shows: signing secrets and chat URLs are never complete in it. */
export const ChannelConfig = Type.Object({
  address: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
  hasSecret: Type.Optional(Type.Boolean()),
  webhookUrl: Type.Optional(Type.String()),
})
export type ChannelConfig = Static<typeof ChannelConfig>

const channel = {
  id: Id,
  kind: ChannelKind,
  label: Type.String(),
  config: ChannelConfig,
  enabled: Type.Boolean(),
  verified: Type.Boolean(),
  createdAt: Time,
  updatedAt: Time,
}
export const Channel = Type.Object(channel)
export type Channel = Static<typeof Channel>

/** `secret`: the generated signing key of a webhook channel, shown only here. */
export const CreatedChannel = Type.Object({ ...channel, secret: Type.Optional(Type.String()) })
export type CreatedChannel = Static<typeof CreatedChannel>

const Label = filledText(100)

const WebhookConfig = Type.Object({ url: text(2_048), secret: Type.Optional(secret(text(256, 1))) })
describeFields(WebhookConfig, {
  url: 'The http or https address that receives deliveries: POST with `{ id, category, organizationId, subject, text, data, createdAt }` and the headers `berth-event` (the category; `test` for a test), `berth-delivery` (the id) and `berth-signature` (`t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`)',
  secret:
    'Key of the signature in `berth-signature`. Absent at creation: one is made and shown once; absent in a change: it stays',
})

/** The fields of the config depend on the kind, so the module validates them. */
const configByKind = byKind({
  email: Type.Object({ address: Type.String({ maxLength: 254, description: 'The e-mail address' }) }),
  webhook: WebhookConfig,
  slack: Type.Object({ webhookUrl: secret(Type.String({ description: 'The incoming-webhook address of Slack' })) }),
  in_app: Type.Object({}),
})

export const ChannelBody = Type.Object({ kind: ChannelKind, label: Label, config: Type.Optional(secret(configByKind)) })
describeFields(ChannelBody, { config: 'The target of the channel; required for every kind except in_app' })
export type ChannelBody = Static<typeof ChannelBody>

export const ChannelChanges = Type.Object({
  label: Type.Optional(Label),
  config: Type.Optional(secret(configByKind)),
  enabled: Type.Optional(Type.Boolean()),
  verified: Type.Optional(Type.Boolean()),
})
export type ChannelChanges = Static<typeof ChannelChanges>

export const Subscription = Type.Object({
  id: Id,
  category: Category,
  channelId: Id,
  enabled: Type.Boolean(),
  createdAt: Time,
  updatedAt: Time,
})
export type Subscription = Static<typeof Subscription>

export const SubscriptionBody = Type.Object({ category: Category, channelId: Id, enabled: Type.Boolean() })
export type SubscriptionBody = Static<typeof SubscriptionBody>

export const OrgDefault = Type.Object({ category: Category, defaultEnabled: Type.Boolean(), updatedAt: Time })
export type OrgDefault = Static<typeof OrgDefault>

export const OrgDefaultBody = Type.Object({ category: Category, defaultEnabled: Type.Boolean() })
export type OrgDefaultBody = Static<typeof OrgDefaultBody>

export const DeliveryStatus = oneOf('queued', 'sent', 'failed')
export type DeliveryStatus = Static<typeof DeliveryStatus>

export const Delivery = Type.Object({
  id: Id,
  category: Category,
  channelId: Id,
  channelKind: ChannelKind,
  status: DeliveryStatus,
  attempts: Type.Integer(),
  subject: Type.String(),
  text: Type.String(),
  projectId: nullable(Id),
  lastError: nullable(Type.String()),
  createdAt: Time,
  sentAt: nullable(Time),
  seenAt: nullable(Time),
})
export type Delivery = Static<typeof Delivery>

export const DeliveriesQuery = Type.Object({
  ...pageQuery,
  unseen: Type.Optional(Type.Boolean()),
  kind: Type.Optional(oneOf('in_app', 'email', 'webhook', 'slack', 'all')),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.deliveriesMaximum,
      default: limits.deliveriesDefault,
      description: 'How many records a page has at most',
    }),
  ),
})
export type DeliveriesQuery = Static<typeof DeliveriesQuery>

export const UnseenCount = Type.Object({ count: Type.Integer() })
export type UnseenCount = Static<typeof UnseenCount>
