import type { CategoryId } from '@berth/contract'
import { type Insertable, type Selectable, sql } from 'kysely'
import type { Database } from '../../platform/database.ts'
import { preparedQuery } from '../../platform/db/prepared.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { AnnouncementsTable, DeliveriesTable, JoinedDeliveriesTable } from '../../platform/db/tables/notifications.ts'
import { membersOf, organizationNames } from '../access/index.ts'
import { projectNames } from '../projects/index.ts'
import { burst, isOpen, type Recent } from './burst.ts'

/** SQL that creates and sends deliveries; the feed is read in `feed-store.ts`. */

export async function isAnnounced(db: Db, id: string): Promise<boolean> {
  return !!(await db.selectFrom('announcements').select('id').where('id', '=', id).executeTakeFirst())
}

export async function insertAnnouncements(db: Db, rows: readonly Insertable<AnnouncementsTable>[]): Promise<void> {
  await db.insertInto('announcements').values(rows).execute()
}

/** Undefined when the organisation has no default of its own. */
export async function findDefault(db: Db, organizationId: string, category: CategoryId): Promise<boolean | undefined> {
  const row = await db
    .selectFrom('notificationDefaults')
    .select('defaultEnabled')
    .where('organizationId', '=', organizationId)
    .where('category', '=', category)
    .executeTakeFirst()
  return row && row.defaultEnabled === 1
}

/** Every member with each of their channels, oldest first. A member without a channel has one row. */
export function findPeople(db: Db, organizationId: string, category: CategoryId, userId: string | undefined) {
  return db
    .selectFrom(membersOf(db, organizationId).as('members'))
    .leftJoin('notificationChannels as channel', 'channel.userId', 'members.userId')
    .leftJoin('notificationSubscriptions as subscription', (join) =>
      join
        .onRef('subscription.channelId', '=', 'channel.id')
        .on('subscription.organizationId', '=', organizationId)
        .on('subscription.category', '=', category),
    )
    .leftJoin('feedOptOuts as optOut', 'optOut.userId', 'members.userId')
    .$if(userId !== undefined, (query) => query.where('members.userId', '=', userId as string))
    .select([
      'members.userId',
      'channel.id as channelId',
      'channel.kind',
      'channel.enabled',
      'channel.verified',
      'subscription.enabled as subscribed',
      'optOut.createdAt as feedOptOutAt',
    ])
    .orderBy('channel.createdAt')
    .orderBy('channel.id')
    .execute()
}

export type PersonRow = Awaited<ReturnType<typeof findPeople>>[number]

/**
 * Recent deliveries that decide where a new one goes: the digests of each channel, and for channels without an open digest also
 * the single deliveries. During a burst only the first query runs, and it reads few rows.
 */
export async function findRecent(
  db: Db,
  channelIds: readonly string[],
  { organizationId, category }: Pick<AnnouncementsTable, 'organizationId' | 'category'>,
  now: number,
): Promise<Map<string, Recent[]>> {
  const createdSince = (channels: readonly string[], since: number) =>
    db
      .selectFrom('deliveries')
      .select(['id', 'channelId', 'status', 'attempts', 'joinedCount', 'createdAt', 'sentAt'])
      .where('channelId', 'in', channels)
      .where('organizationId', '=', organizationId)
      .where('category', '=', category)
      .where('createdAt', '>', since)
  const heads = await createdSince(channelIds, now - burst.memoryMs)
    // Raw SQL: a partial index is used only if the query repeats its condition literally.
    .where(sql<boolean>`"joinedCount" > 0`)
    .execute()
  const busyChannels = new Set(heads.filter(isOpen).map(({ channelId }) => channelId))
  const others = channelIds.filter((id) => !busyChannels.has(id))
  const alone =
    others.length === 0
      ? []
      : await createdSince(others, now - burst.windowMs)
          .where('joinedCount', '=', 0)
          .execute()
  return Map.groupBy([...heads, ...alone], ({ channelId }) => channelId)
}

/** Adds `count` to the digests whose first attempt has not begun; their first attempt waits for this commit. Returns their ids. */
export async function joinInto(db: Db, heads: readonly string[], count: number): Promise<string[]> {
  const rows = await db
    .updateTable('deliveries')
    .set(({ eb }) => ({ joinedCount: eb('joinedCount', '+', count) }))
    .where('id', 'in', heads)
    .where('status', '=', 'queued')
    .where('attempts', '=', 0)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Deletes deliveries whose first attempt has not begun, so that a digest can contain them. */
export async function takeWaiting(db: Db, ids: readonly string[]): Promise<{ id: string; announcementId: string }[]> {
  if (ids.length === 0) return []
  return db
    .deleteFrom('deliveries')
    .where('id', 'in', ids)
    .where('status', '=', 'queued')
    .where('attempts', '=', 0)
    .returning(['id', 'announcementId'])
    .execute()
}

/**
 * Inserts rows as one JSON parameter, which costs a tenth of a statement with one parameter per column. In a burst these are most
 * of the writes.
 */
export async function insertJoined(
  { db, kind }: Pick<Database, 'db' | 'kind'>,
  rows: readonly Selectable<JoinedDeliveriesTable>[],
): Promise<void> {
  const elements = sql.raw(kind === 'postgres' ? 'json_array_elements' : 'json_each')
  const json = kind === 'postgres' ? sql`cast(${asJson(rows)} as json)` : sql`${asJson(rows)}`
  if (rows.length > 0)
    await sql`insert into "joinedDeliveries" (id, "deliveryId", "announcementId")
      select value ->> 0, value ->> 1, value ->> 2 from ${elements}(${json})`.execute(db)
}

const asJson = (rows: readonly Selectable<JoinedDeliveriesTable>[]) =>
  JSON.stringify(rows.map(({ id, deliveryId, announcementId }) => [id, deliveryId, announcementId]))

/** Inserts in batches. */
export async function insertDeliveries(db: Db, rows: readonly Insertable<DeliveriesTable>[]): Promise<void> {
  for (let offset = 0; offset < rows.length; offset += rowsAtOnce) {
    await db
      .insertInto('deliveries')
      .values(rows.slice(offset, offset + rowsAtOnce))
      .execute()
  }
}

const rowsAtOnce = 100

export const findForSending = preparedQuery((db, { id }: { id: string }) =>
  db
    .selectFrom('deliveries')
    .innerJoin('announcements', 'announcements.id', 'deliveries.announcementId')
    .innerJoin(organizationNames(db).as('organization'), 'organization.id', 'deliveries.organizationId')
    .leftJoin(projectNames(db).as('project'), 'project.id', 'announcements.projectId')
    .leftJoin('notificationChannels as channel', 'channel.id', 'deliveries.channelId')
    .where('deliveries.id', '=', id)
    .selectAll('deliveries')
    .select([
      'announcements.subject',
      'announcements.text',
      'announcements.data',
      'announcements.projectId',
      'announcements.createdAt as happenedAt',
      'organization.name as organizationName',
      'project.name as projectName',
      'channel.config as channelConfig',
      'channel.secrets as channelSecrets',
      'channel.enabled as channelEnabled',
      'channel.verified as channelVerified',
    ]),
)

export type SendingRow = NonNullable<Awaited<ReturnType<typeof findForSending.first>>>

/** An attempt at a delivery. The attempt number works as a fencing token against an earlier job. */
export interface Try {
  id: string
  jobId: string
  attempt: number
}

/** Begins an attempt; no more deliveries join this one from now on. Returns false when another job has it, or it has ended. */
export async function beginTry(db: Db, { id, jobId, attempt }: Try): Promise<boolean> {
  const started = await db
    .updateTable('deliveries')
    .set({ status: 'sending', attempts: attempt })
    .where('id', '=', id)
    .where('jobId', '=', jobId)
    .where('attempts', '=', attempt - 1)
    .where('status', 'in', ['queued', 'sending'])
    .returning('id')
    .executeTakeFirst()
  return started !== undefined
}

type TryEnd =
  | { status: 'sent'; sentAt: number; lastError: null }
  | { status: 'failed'; lastError: string }
  | { status: 'queued'; lastError: string; jobId: string }

/** Records the end of an attempt. Returns false when another job has the delivery by now and records it. */
export async function endTry(db: Db, { id, jobId, attempt }: Try, end: TryEnd): Promise<boolean> {
  const ended = await db
    .updateTable('deliveries')
    .set(end)
    .where('id', '=', id)
    .where('jobId', '=', jobId)
    .where('attempts', '=', attempt)
    .where('status', 'in', ['queued', 'sending'])
    .returning('id')
    .executeTakeFirst()
  return ended !== undefined
}

/** A delivery and those joined into it, in chronological order. */
export function findJoined(db: Db, deliveryId: string) {
  const own = db.selectFrom('deliveries').select(['id', 'announcementId']).where('id', '=', deliveryId)
  const joined = db.selectFrom('joinedDeliveries').select(['id', 'announcementId']).where('deliveryId', '=', deliveryId)
  return db
    .selectFrom(own.unionAll(joined).as('included'))
    .innerJoin('announcements', 'announcements.id', 'included.announcementId')
    .leftJoin(projectNames(db).as('project'), 'project.id', 'announcements.projectId')
    .select([
      'included.id',
      'announcements.subject',
      'announcements.text',
      'announcements.data',
      'announcements.projectId',
      'announcements.createdAt as happenedAt',
      'project.name as projectName',
    ])
    .orderBy('announcements.sequence')
    .execute()
}

export async function keepJoinedMessages(db: Db, id: string, subject: string, text: string): Promise<void> {
  await db.updateTable('deliveries').set({ joinedSubject: subject, joinedText: text }).where('id', '=', id).execute()
}

/** Marks a delivery as failed, no matter which job has it. */
export async function abandon(db: Db, id: string, lastError: string): Promise<void> {
  await db
    .updateTable('deliveries')
    .set({ status: 'failed', lastError })
    .where('id', '=', id)
    .where('status', 'in', ['queued', 'sending'])
    .execute()
}

/** Fails the queued deliveries of a channel; an attempt in progress records its own end. */
export async function endQueuedOf(db: Db, channelId: string, lastError: string): Promise<void> {
  await db
    .updateTable('deliveries')
    .set({ status: 'failed', lastError })
    .where('channelId', '=', channelId)
    .where('status', '=', 'queued')
    .execute()
}
