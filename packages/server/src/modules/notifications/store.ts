import type { CategoryId, Channel, OrgDefault, Subscription } from '@berth/contract'
import type { Insertable, Updateable } from 'kysely'
import { iso } from '../../platform/db/columns.ts'
import { newId } from '../../platform/db/ids.ts'
import { page } from '../../platform/db/pages.ts'
import type { Db } from '../../platform/db/schema.ts'
import type {
  ChannelRow,
  NotificationChannelsTable,
  NotificationSubscriptionsTable,
  OrgDefaultRow,
  SubscriptionRow,
} from '../../platform/db/tables/notifications.ts'

/** The SQL of channels, subscriptions and defaults; that of deliveries is in `delivery-store.ts`. */

/** A user in the active organisation. Channels belong to the user alone. */
export interface Owner {
  userId: string
  organizationId: string
}

export interface ListRequest {
  limit?: number
  cursor?: string
}

const oldestFirst = { by: ['createdAt', 'id'], direction: 'asc' } as const
const paging = ({ limit, cursor }: ListRequest) => ({ limit: limit ?? 100, cursor: cursor ?? null })

type Owned = 'notificationChannels' | 'notificationSubscriptions'

type User = Pick<Owner, 'userId'>

const channelsOf = (db: Db, { userId }: User) => db.selectFrom('notificationChannels').selectAll().where('userId', '=', userId)

const subscriptionsOf = (db: Db, { userId, organizationId }: Owner) =>
  db.selectFrom('notificationSubscriptions').selectAll().where('organizationId', '=', organizationId).where('userId', '=', userId)

export const listChannels = (db: Db, owner: User, request: ListRequest) =>
  page(channelsOf(db, owner), { ...paging(request), ...oldestFirst })

export const listSubscriptions = (db: Db, owner: Owner, request: ListRequest) =>
  page(subscriptionsOf(db, owner), { ...paging(request), ...oldestFirst })

export const findChannelOf = (db: Db, owner: User, id: string): Promise<ChannelRow | undefined> =>
  channelsOf(db, owner).where('id', '=', id).executeTakeFirst()

export const findSubscriptionOf = (db: Db, owner: Owner, id: string): Promise<SubscriptionRow | undefined> =>
  subscriptionsOf(db, owner).where('id', '=', id).executeTakeFirst()

export async function countChannels(db: Db, { userId }: User): Promise<number> {
  const { count } = await db
    .selectFrom('notificationChannels')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('userId', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export const findInAppChannel = (db: Db, owner: User): Promise<ChannelRow | undefined> =>
  channelsOf(db, owner).where('kind', '=', 'in_app').orderBy('createdAt').orderBy('id').limit(1).executeTakeFirst()

/** Lock held while a channel of the user is created or deleted. */
export const channelsLock = ({ userId }: User) => `notifications:channels:${userId}`

export async function optOutOfFeed(db: Db, { userId }: User, now: number): Promise<void> {
  await db
    .insertInto('feedOptOuts')
    .values({ userId, createdAt: now })
    .onConflict((conflict) => conflict.column('userId').doNothing())
    .execute()
}

export async function optIntoFeed(db: Db, { userId }: User): Promise<void> {
  await db.deleteFrom('feedOptOuts').where('userId', '=', userId).execute()
}

export async function isOptedOutOfFeed(db: Db, { userId }: User): Promise<boolean> {
  return !!(await db.selectFrom('feedOptOuts').select('userId').where('userId', '=', userId).executeTakeFirst())
}

export const insertChannel = (db: Db, row: Insertable<NotificationChannelsTable>): Promise<ChannelRow> =>
  db.insertInto('notificationChannels').values(row).returningAll().executeTakeFirstOrThrow()

export const updateChannel = (db: Db, id: string, changes: Updateable<NotificationChannelsTable>): Promise<ChannelRow> =>
  db.updateTable('notificationChannels').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow()

/** Marks a channel as verified if its config is still the tested one. */
export const markVerified = (db: Db, { id, configRevision }: ChannelRow, now: number): Promise<ChannelRow | undefined> =>
  db
    .updateTable('notificationChannels')
    .set({ verified: 1, updatedAt: now })
    .where('id', '=', id)
    .where('configRevision', '=', configRevision)
    .returningAll()
    .executeTakeFirst()

export async function deleteRow(db: Db, table: Owned, id: string): Promise<void> {
  await db.deleteFrom(table).where('id', '=', id).execute()
}

export function putSubscription(
  db: Db,
  { userId, organizationId }: Owner,
  { category, channelId, enabled }: { category: CategoryId; channelId: string; enabled: boolean },
  now: number,
): Promise<SubscriptionRow> {
  const row: Insertable<NotificationSubscriptionsTable> = {
    id: newId('nsb'),
    organizationId,
    userId,
    channelId,
    category,
    enabled,
    createdAt: now,
    updatedAt: now,
  }
  return db
    .insertInto('notificationSubscriptions')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['organizationId', 'channelId', 'category']).doUpdateSet(({ eb, ref }) => ({
        enabled,
        // An unchanged subscription keeps its time.
        updatedAt: eb
          .case()
          .when('notificationSubscriptions.enabled', '=', Number(enabled) as 0 | 1)
          .then(ref('notificationSubscriptions.updatedAt'))
          .else(now)
          .end(),
      })),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}

export const listDefaults = (db: Db, organizationId: string, request: ListRequest) =>
  page(db.selectFrom('notificationDefaults').selectAll().where('organizationId', '=', organizationId), {
    ...paging(request),
    by: ['category'],
    direction: 'asc',
  })

export const putDefault = (
  db: Db,
  organizationId: string,
  { category, defaultEnabled }: { category: CategoryId; defaultEnabled: boolean },
  now: number,
): Promise<OrgDefaultRow> =>
  db
    .insertInto('notificationDefaults')
    .values({ organizationId, category, defaultEnabled, updatedAt: now })
    .onConflict((conflict) =>
      conflict.columns(['organizationId', 'category']).doUpdateSet(({ eb, ref }) => ({
        defaultEnabled,
        updatedAt: eb
          .case()
          .when('notificationDefaults.defaultEnabled', '=', Number(defaultEnabled) as 0 | 1)
          .then(ref('notificationDefaults.updatedAt'))
          .else(now)
          .end(),
      })),
    )
    .returningAll()
    .executeTakeFirstOrThrow()

/** The `config` without secrets, as the API shows it. */
export const showChannel = (row: ChannelRow, config: Record<string, unknown>): Channel => ({
  id: row.id,
  kind: row.kind,
  label: row.label,
  config,
  enabled: row.enabled === 1,
  verified: row.verified === 1,
  createdAt: iso(row.createdAt),
  updatedAt: iso(row.updatedAt),
})

export const showSubscription = (row: SubscriptionRow): Subscription => ({
  id: row.id,
  category: row.category,
  channelId: row.channelId,
  enabled: row.enabled === 1,
  createdAt: iso(row.createdAt),
  updatedAt: iso(row.updatedAt),
})

export const showDefault = ({ category, defaultEnabled, updatedAt }: OrgDefaultRow): OrgDefault => ({
  category,
  defaultEnabled: defaultEnabled === 1,
  updatedAt: iso(updatedAt),
})
