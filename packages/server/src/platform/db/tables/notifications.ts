import type { CategoryId, ChannelKind } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

/** A channel belongs to its user, in every organisation. */
export interface NotificationChannelsTable {
  id: string
  userId: string
  kind: ChannelKind
  label: string
  /** The part of the config that is stored unencrypted. */
  config: JsonText
  /** The rest of the config as one sealed JSON document; null if the kind has no secrets. */
  secrets: string | null
  /** Incremented on each change of the config, so that a test of an older config cannot verify a newer one. */
  configRevision: number
  enabled: Flag
  verified: Flag
  createdAt: Millis
  updatedAt: Millis
}

/** A toggle per user, organisation, category and channel. Subscriptions and deliveries are deleted with the membership. */
export interface NotificationSubscriptionsTable {
  id: string
  organizationId: string
  userId: string
  channelId: string
  category: CategoryId
  enabled: Flag
  createdAt: Millis
  updatedAt: Millis
}

/** Users who deleted their in-app channel: none is created for them automatically. */
export interface FeedOptOutsTable {
  userId: string
  createdAt: Millis
}

export interface NotificationDefaultsTable {
  organizationId: string
  category: CategoryId
  defaultEnabled: Flag
  updatedAt: Millis
}

/** An event, stored once for all its recipients. */
export interface AnnouncementsTable {
  /** The id of the job that announced it: running that job again finds the row and does nothing. */
  id: string
  organizationId: string
  category: CategoryId
  projectId: string | null
  subject: string
  text: string
  data: JsonText<Record<string, unknown>>
  /** When it happened. */
  createdAt: Millis
  /** Orders announcements of the same millisecond: strictly increasing within a process. */
  sequence: number
}

export interface DeliveriesTable {
  id: string
  announcementId: string
  organizationId: string
  userId: string
  /** No foreign key: deliveries stay in the feed when their channel is deleted. */
  channelId: string
  channelKind: ChannelKind
  category: CategoryId
  /** `sending`: the job in `jobId` has begun an attempt and has not recorded its result. */
  status: 'queued' | 'sending' | 'sent' | 'failed'
  attempts: number
  /** The only job that may send it; null if none is needed. */
  jobId: string | null
  /** Number of deliveries combined in this one, including itself. 0: it was not combined. */
  joinedCount: number
  /** Text of the combined deliveries, fixed at the first attempt. */
  joinedSubject: string | null
  joinedText: string | null
  lastError: string | null
  createdAt: Millis
  sentAt: Millis | null
  seenAt: Millis | null
}

/** An announcement that was combined into another one's delivery. In a burst, only this row is kept for each. */
export interface JoinedDeliveriesTable {
  /** `ndl_…`, as for every delivery. */
  id: string
  deliveryId: string
  announcementId: string
}

/** Keys of announcements that a watcher has already made and must not repeat. */
export interface AnnouncedOnceTable {
  key: string
  /** When the key can be deleted, because the event itself is past. */
  forgetAt: Millis
}

/** Number of consecutive failed checks of a server; no row: the last check succeeded. */
export interface ServerFailuresTable {
  serverId: string
  failures: number
  /** When the server was announced as unreachable. */
  announcedAt: Millis | null
}

export interface NotificationsTables {
  notificationChannels: NotificationChannelsTable
  notificationSubscriptions: NotificationSubscriptionsTable
  feedOptOuts: FeedOptOutsTable
  notificationDefaults: NotificationDefaultsTable
  announcements: AnnouncementsTable
  deliveries: DeliveriesTable
  joinedDeliveries: JoinedDeliveriesTable
  announcedOnce: AnnouncedOnceTable
  serverFailures: ServerFailuresTable
}

export type ChannelRow = Selectable<NotificationChannelsTable>
export type SubscriptionRow = Selectable<NotificationSubscriptionsTable>
export type OrgDefaultRow = Selectable<NotificationDefaultsTable>
export type AnnouncementRow = Selectable<AnnouncementsTable>
export type DeliveryRow = Selectable<DeliveriesTable>
