import type { DeliveriesQuery, Delivery } from '@berth/contract'
import { sql } from 'kysely'
import type { Awaitable } from '../../../platform/awaitable.ts'
import { iso, isoOrNull } from '../../../platform/db/columns.ts'
import { idsOrNone } from '../../../platform/db/id-lists.ts'
import { createListResponse, type Page, page, preparedPage } from '../../../platform/db/pages.ts'
import { preparedQuery } from '../../../platform/db/prepared.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { DeliveryRow } from '../../../platform/db/tables/notifications.ts'
import type { ListRequest, Owner } from '../store.ts'

/** The SQL of the feed. */

/** The owner of the feed. `projectIds` limits a project-scoped token; null for all projects. */
export interface Reader extends Owner {
  projectIds: ReadonlySet<string> | null
}

function listed(db: Db, { userId, organizationId, projectIds }: Reader) {
  return db
    .selectFrom('deliveries')
    .innerJoin('announcements', 'announcements.id', 'deliveries.announcementId')
    .where('deliveries.organizationId', '=', organizationId)
    .where('deliveries.userId', '=', userId)
    .$if(projectIds !== null, (query) =>
      // A digest may also contain entries of other projects.
      query.where('announcements.projectId', 'in', idsOrNone(projectIds ?? [])).where('deliveries.joinedCount', '=', 0),
    )
    .selectAll('deliveries')
    .select(['announcements.subject', 'announcements.text', 'announcements.projectId'])
}

/** The unread condition: in-app entries that are sent and unseen. Raw SQL, so that the partial index is used. */
const isUnseen = sql<boolean>`deliveries."seenAt" is null and deliveries."channelKind" = 'in_app' and deliveries.status = 'sent'`

/** The feed, unless another kind is given: deliveries to other channels would push alerts off the page. */
function ofKind(db: Db, reader: Reader, { kind = 'in_app', unseen }: Pick<DeliveriesQuery, 'kind' | 'unseen'>) {
  if (kind === 'in_app') return unseen ? listed(db, reader).where(isUnseen) : inFeed(db, reader)
  const all = kind === 'all' ? listed(db, reader) : listed(db, reader).where('deliveries.channelKind', '=', kind)
  return unseen ? all.where('deliveries.seenAt', 'is', null) : all
}

export function listDeliveries(
  db: Db,
  reader: Reader,
  { limit = 50, cursor, ...request }: ListRequest & Pick<DeliveriesQuery, 'kind' | 'unseen'>,
): Awaitable<Page<ListedRow>> {
  const { userId, organizationId, projectIds } = reader
  const { kind = 'in_app', unseen } = request
  if (kind === 'in_app' && !unseen && !projectIds) return feedPage(db, { userId, organizationId }, { limit, cursor })
  return page(ofKind(db, reader, request), { limit, cursor, ...newestFirst })
}

const newestFirst = { by: ['deliveries.createdAt', 'deliveries.id'], direction: 'desc' } as const
const feedPage = preparedPage<Owner, 'deliveries' | 'announcements', ListedRow>(
  (db, owner) => inFeed(db, { ...owner, projectIds: null }),
  newestFirst,
)

const countOwnUnseen = preparedQuery((db, { organizationId, userId }: { organizationId: string; userId: string }) =>
  db
    .selectFrom('deliveries')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organizationId', '=', organizationId)
    .where('userId', '=', userId)
    .where(isUnseen),
)

export async function countUnseen(db: Db, reader: Reader): Promise<number> {
  const { organizationId, userId, projectIds } = reader
  const row = projectIds
    ? await listed(db, reader)
        .where(isUnseen)
        .clearSelect()
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirst()
    : await countOwnUnseen.first(db, { organizationId, userId })
  return Number(row?.count ?? 0)
}

export const findDelivery = (db: Db, reader: Reader, id: string): Promise<ListedRow | undefined> =>
  listed(db, reader).where('deliveries.id', '=', id).executeTakeFirst()

/** Marks a delivery as seen; the first time is kept. */
export async function markSeen(db: Db, id: string, now: number): Promise<boolean> {
  const updated = await db
    .updateTable('deliveries')
    .set({ seenAt: now })
    .where('id', '=', id)
    .where('seenAt', 'is', null)
    .returning('id')
    .executeTakeFirst()
  return updated !== undefined
}

/** Raw SQL, so that the partial index is used. */
const isInFeed = sql<boolean>`deliveries."channelKind" = 'in_app' and deliveries.status = 'sent'`

const inFeed = (db: Db, reader: Reader) => listed(db, reader).where(isInFeed)

export const findAnnounced = (db: Db, reader: Reader, announcementIds: readonly string[]): Promise<ListedRow[]> =>
  inFeed(db, reader).where('deliveries.announcementId', 'in', announcementIds).orderBy('deliveries.createdAt').execute()

export const findDelivered = (db: Db, reader: Reader, ids: readonly string[]): Promise<ListedRow[]> =>
  inFeed(db, reader).where('deliveries.id', 'in', ids).orderBy('deliveries.createdAt').execute()

/** Entries sent since then, oldest first. The creation time has a margin, because a digest waits before it is sent. */
export const findSince = (db: Db, reader: Reader, since: number, limit: number): Promise<ListedRow[]> =>
  inFeed(db, reader)
    .where('deliveries.createdAt', '>=', since - 180_000)
    .where('deliveries.sentAt', '>=', since)
    .orderBy('deliveries.sentAt')
    .limit(limit)
    .execute()

type ListedRow = DeliveryRow & { subject: string; text: string; projectId: string | null }

export const showDelivery = (row: ListedRow): Delivery => ({
  id: row.id,
  category: row.category,
  channelId: row.channelId,
  channelKind: row.channelKind,
  // The API shows an attempt in progress as queued.
  status: row.status === 'sending' ? 'queued' : row.status,
  attempts: row.attempts,
  subject: row.joinedSubject ?? row.subject,
  text: row.joinedText ?? row.text,
  projectId: row.joinedSubject === null ? row.projectId : null,
  lastError: row.lastError,
  createdAt: iso(row.createdAt),
  sentAt: isoOrNull(row.sentAt),
  seenAt: isoOrNull(row.seenAt),
})

export const deliveryList = createListResponse(showDelivery)
