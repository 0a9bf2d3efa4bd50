import type { CategoryId, ChannelKind } from '@berth/contract'
import type { Selectable } from 'kysely'
import type { Flag, JsonText, Millis } from '../columns.ts'

/** A channel belongs to its user, in every organisation. */
export interface NotificationChannelsTable {
  id: string
  userId: string
  kind: ChannelKind
  label: string
  /** What of the config may be stored as it is. */
  config: JsonText
  /** The rest of it as one sealed JSON document; null where the kind has no secrets. */
  secrets: string | null
  /** Counts changes of the config, so that a test of an older one cannot verify a newer one. */
  configRevision: number
  enabled: Flag
  verified: Flag
  createdAt: Millis
  updatedAt: Millis
}

/** One toggle per user, organisation, category and channel. Subscriptions and deliveries are deleted with the membership. */
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

/** Users who deleted their in-app channel: none is made for them until they create one. */
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

/** What happened, once for all who are told of it. */
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
  /** Orders those that happened in the same moment: strictly growing within a process. */
  sequence: number
}

export interface DeliveriesTable {
  id: string
  announcementId: string
  organizationId: string
  userId: string
  /** No reference: what was delivered stays in the feed when its channel goes. */
  channelId: string
  channelKind: ChannelKind
  category: CategoryId
  /** `sending`: the job in `jobId` has begun a try and has not recorded its end. */
  status: 'queued' | 'sending' | 'sent' | 'failed'
  attempts: number
  /** The one job that may try it; null where none is needed. */
  jobId: string | null
  /** How many it stands for, itself included, where others are joined into it. 0: it stands for itself alone. */
  joinedCount: number
  /** What the joined ones say together, fixed at the first try. */
  joinedSubject: string | null
  joinedText: string | null
  lastError: string | null
  createdAt: Millis
  sentAt: Millis | null
  seenAt: Millis | null
}

/** What a delivery tells besides its own announcement: of a flood, this is all that is kept of each. */
export interface JoinedDeliveriesTable {
  /** `ndl_…`, as every delivery has. */
  id: string
  deliveryId: string
  announcementId: string
}

/** What a watcher has announced and must not announce again. */
export interface AnnouncedOnceTable {
  key: string
  /** When the thing itself is past, so that the key can go. */
  forgetAt: Millis
}

/** Failed looks at a server in a row; no row: the last one was good. */
export interface ServerFailuresTable {
  serverId: string
  failures: number
  /** When its silence was announced. */
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
