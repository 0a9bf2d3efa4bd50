import { Type } from 'typebox'
import { route } from '../route.ts'
import { data, Id, list, PageQuery } from '../shape.ts'
import {
  Channel,
  ChannelBody,
  ChannelChanges,
  CreatedChannel,
  DeliveriesQuery,
  Delivery,
  NotificationCategory,
  OrgDefault,
  OrgDefaultBody,
  Subscription,
  SubscriptionBody,
  UnseenCount,
} from './shapes.ts'

/** Channels, subscriptions and deliveries belong to the caller: another user's id is 404. Defaults belong to the organisation. */
export const notifications = {
  listCategories: route('GET /notifications/categories', {
    summary: 'All notification categories',
    permission: 'notifications:read',
    query: PageQuery,
    returns: list(NotificationCategory),
  }),
  listChannels: route('GET /notifications/channels', {
    summary: "The caller's channels, the same in every organisation; secrets redacted",
    permission: 'notifications:read',
    query: PageQuery,
    returns: list(Channel),
  }),
  createChannel: route('POST /notifications/channels', {
    summary: 'Create a channel, at most 100 per user; all except in_app must be verified first',
    permission: 'notifications:write',
    body: ChannelBody,
    returns: data(CreatedChannel),
    status: 201,
    errors: ['conflict'],
  }),
  updateChannel: route('PATCH /notifications/channels/:id', {
    summary: 'Change a channel; after a config change it must be verified again, except in_app',
    permission: 'notifications:write',
    on: 'channel',
    body: ChannelChanges,
    returns: data(Channel),
  }),
  deleteChannel: route('DELETE /notifications/channels/:id', {
    summary: 'Delete a channel and its subscriptions',
    permission: 'notifications:write',
    on: 'channel',
    status: 204,
  }),
  testChannel: route('POST /notifications/channels/:id/test', {
    summary:
      'Send one message through the channel, at most 20 a minute, and mark it verified when it arrived; in_app is always verified and gets none',
    permission: 'notifications:write',
    on: 'channel',
    returns: data(Channel),
    errors: ['delivery_failed'],
  }),
  listSubscriptions: route('GET /notifications/subscriptions', {
    summary: "The caller's subscriptions in the active organisation",
    permission: 'notifications:read',
    query: PageQuery,
    returns: list(Subscription),
  }),
  putSubscription: route('PUT /notifications/subscriptions', {
    summary: 'Enable or disable one category for one channel; idempotent',
    permission: 'notifications:write',
    names: { channelId: 'channel' },
    body: SubscriptionBody,
    returns: data(Subscription),
    errors: ['not_found'],
  }),
  deleteSubscription: route('DELETE /notifications/subscriptions/:id', {
    summary: 'Delete a subscription; the default applies again',
    permission: 'notifications:write',
    on: 'subscription',
    status: 204,
  }),
  listDefaults: route('GET /notifications/defaults', {
    summary: "The organisation's defaults",
    permission: 'notifications:read',
    query: PageQuery,
    returns: list(OrgDefault),
  }),
  putDefault: route('PUT /notifications/defaults', {
    summary: "Set the organisation's default for one category",
    permission: 'notifications:admin',
    body: OrgDefaultBody,
    returns: data(OrgDefault),
  }),
  listDeliveries: route('GET /notifications/deliveries', {
    summary: "The caller's in-app feed in the active organisation, newest first; `kind` lists the deliveries to other channels",
    permission: 'notifications:read',
    projectTokens: 'filtered',
    query: DeliveriesQuery,
    returns: list(Delivery),
  }),
  countUnseen: route('GET /notifications/deliveries/unseen-count', {
    summary: 'Number of unseen entries in the feed',
    permission: 'notifications:read',
    projectTokens: 'filtered',
    returns: data(UnseenCount),
  }),
  markSeen: route('POST /notifications/deliveries/:id/seen', {
    summary: 'Mark one delivery as seen; the time of the first call is kept',
    permission: 'notifications:write',
    on: 'delivery',
    projectTokens: 'filtered',
    returns: data(Delivery),
  }),
  streamDeliveries: route('GET /notifications/stream', {
    summary: 'Live in-app deliveries of the caller: snapshot with the unseen count, then delivery and seen',
    permission: 'notifications:read',
    projectTokens: 'filtered',
    stream: { snapshot: UnseenCount, delivery: Delivery, seen: Type.Object({ id: Id, count: Type.Integer() }) },
  }),
}
