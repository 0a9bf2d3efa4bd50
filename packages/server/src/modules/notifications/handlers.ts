import { categories, type contract } from '@berth/contract'
import type { Handlers } from '../../http/handler.ts'
import { thenSync } from '../../platform/awaitable.ts'
import { listResponse, pageOf } from '../../platform/db/pages.ts'
import { writeAuditRecord } from '../../platform/db/write-record.ts'
import { fail } from '../../platform/failure.ts'
import { changeChannel, createChannel, deleteChannel, show } from './channels/channels.ts'
import { createTestSend } from './channels/test-send.ts'
import { type NotificationsDeps, nowOf } from './deps.ts'
import * as feed from './feed/feed-store.ts'
import { type FeedSignal, feedTopic, streamFeed } from './feed/feed-stream.ts'
import * as store from './store.ts'

/** Frozen, so that its text is made once. */
const allCategories = Object.freeze(listResponse(pageOf(categories, {}), (category) => category))

export function notificationsHandlers(deps: NotificationsDeps): Handlers<typeof contract.notifications> {
  const { database } = deps
  const { db } = database
  const testChannel = createTestSend(deps)

  return {
    listCategories: ({ query }) =>
      query.limit === undefined && query.cursor === undefined
        ? allCategories
        : listResponse(pageOf(categories, query), (category) => category),

    listChannels: async ({ query }, { caller }) =>
      listResponse(await store.listChannels(db, caller, query), (row) => show(row, deps)),
    createChannel: async ({ body }, context) => {
      context.audit({ objectKind: 'channel', made: 'nch' })
      return { data: await createChannel(body, context.caller, deps) }
    },
    updateChannel: async ({ body }, { channel }) => changeChannel(channel, body, deps),
    deleteChannel: async (_, { channel }) => {
      await deleteChannel(channel, deps)
      return undefined
    },
    testChannel: async (_, { channel, caller }) => {
      await writeAuditRecord()
      return { data: await testChannel(channel, caller.organizationId) }
    },

    listSubscriptions: async ({ query }, { caller }) =>
      listResponse(await store.listSubscriptions(db, caller, query), store.showSubscription),
    putSubscription: async ({ body }, context) => {
      const channel = await store.findChannelOf(db, context.caller, body.channelId)
      if (!channel) fail('not_found', { message: 'This channel does not exist', field: 'channelId' })
      const row = await database.transaction(async (transaction) => {
        const put = await store.putSubscription(transaction.db, context.caller, body, nowOf(deps))
        context.audit({ objectKind: 'subscription', objectId: put.id })
        return put
      })
      return { data: store.showSubscription(row) }
    },
    deleteSubscription: async (_, { subscription }) => {
      await store.deleteRow(db, 'notificationSubscriptions', subscription.id)
      return undefined
    },

    listDefaults: async ({ query }, { caller }) =>
      listResponse(await store.listDefaults(db, caller.organizationId, query), store.showDefault),
    putDefault: async ({ body }, context) => {
      context.audit({ objectKind: 'notificationDefault', objectId: body.category })
      const row = await store.putDefault(db, context.caller.organizationId, body, nowOf(deps))
      return { data: store.showDefault(row) }
    },

    listDeliveries: ({ query }, { caller }) => thenSync(feed.listDeliveries(db, caller, query), feed.deliveryList),
    countUnseen: async (_, { caller }) => ({ data: { count: await feed.countUnseen(db, caller) } }),
    markSeen: async (_, { delivery, caller }) => {
      const { id, userId, organizationId } = delivery
      await database.transaction(async (transaction) => {
        if (await feed.markSeen(transaction.db, id, nowOf(deps)))
          transaction.signal(feedTopic(organizationId), { seen: id, userId } satisfies FeedSignal)
      })
      return { data: feed.showDelivery((await feed.findDelivery(db, caller, id)) ?? fail('not_found')) }
    },
    streamDeliveries: async (_, { stream, caller }) => {
      await streamFeed(stream, caller, deps)
      return undefined as never
    },
  }
}
