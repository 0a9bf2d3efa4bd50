import type { Delivery } from '@berth/contract'
import { page } from '../../db/pages.ts'
import type { Db } from '../../db/schema.ts'
import type { DeliveryRow } from '../../db/tables/notifications.ts'
import { iso, isoOrNull } from './deps.ts'
import type { ListRequest, Owner } from './store.ts'

/** The SQL of the feed. */

/** Whose feed; `projectIds`: what a token that is limited to projects may see of it, null for all. */
export interface Reader extends Owner {
  projectIds: ReadonlySet<string> | null
}

/** What was joined into another is told by that one. */
function listed(db: Db, { userId, organizationId, projectIds }: Reader) {
  return db
    .selectFrom('deliveries')
    .innerJoin('announcements', 'announcements.id', 'deliveries.announcementId')
    .where('deliveries.organizationId', '=', organizationId)
    .where('deliveries.userId', '=', userId)
    .where('deliveries.joinedInto', 'is', null)
    .$if(projectIds !== null, (query) => query.where('announcements.projectId', 'in', [...(projectIds ?? []), '']))
    .selectAll('deliveries')
    .select(['announcements.subject', 'announcements.text', 'announcements.projectId'])
}

/** What the bell counts: entries of the feed that have come and were not seen. */
const unseen = <Q extends Narrowed<Q>>(query: Q): Q =>
  query
    .where('deliveries.channelKind', '=', 'in_app')
    .where('deliveries.status', '=', 'sent')
    .where('deliveries.seenAt', 'is', null)

interface Narrowed<Q> {
  where(column: 'deliveries.channelKind', operator: '=', value: 'in_app'): Q
  where(column: 'deliveries.status', operator: '=', value: 'sent'): Q
  where(column: 'deliveries.seenAt', operator: 'is', value: null): Q
}

export function listDeliveries(db: Db, reader: Reader, request: ListRequest & { unseen?: boolean }) {
  const all = listed(db, reader)
  return page(request.unseen ? unseen(all) : all, {
    limit: request.limit ?? 50,
    cursor: request.cursor ?? null,
    by: ['deliveries.createdAt', 'deliveries.id'],
    direction: 'desc',
  })
}

export async function countUnseen(db: Db, reader: Reader): Promise<number> {
  const { count } = await unseen(listed(db, reader))
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

export const findDelivery = (db: Db, reader: Reader, id: string): Promise<ListedRow | undefined> =>
  listed(db, reader).where('deliveries.id', '=', id).executeTakeFirst()

/** The first time stays. */
export async function markSeen(db: Db, id: string, now: number): Promise<boolean> {
  const marked = await db
    .updateTable('deliveries')
    .set({ seenAt: now })
    .where('id', '=', id)
    .where('seenAt', 'is', null)
    .returning('id')
    .executeTakeFirst()
  return marked !== undefined
}

const inFeed = (db: Db, reader: Reader) =>
  listed(db, reader).where('deliveries.channelKind', '=', 'in_app').where('deliveries.status', '=', 'sent')

export const findAnnounced = (db: Db, reader: Reader, announcementIds: readonly string[]): Promise<ListedRow[]> =>
  inFeed(db, reader).where('deliveries.announcementId', 'in', announcementIds).orderBy('deliveries.createdAt').execute()

export const findDelivered = (db: Db, reader: Reader, ids: readonly string[]): Promise<ListedRow[]> =>
  inFeed(db, reader).where('deliveries.id', 'in', ids).orderBy('deliveries.createdAt').execute()

/** Entries that came since then, the oldest first; `since` is stretched, for a joined one waits before it comes. */
export const findSince = (db: Db, reader: Reader, since: number, limit: number): Promise<ListedRow[]> =>
  inFeed(db, reader)
    .where('deliveries.createdAt', '>=', since - 180_000)
    .where('deliveries.sentAt', '>=', since)
    .orderBy('deliveries.sentAt')
    .limit(limit)
    .execute()

type ListedRow = DeliveryRow & { subject: string; text: string; projectId: string | null }

/** That a try is under way is nobody's business but ours; what was joined is not listed. */
const shownStatus = { queued: 'queued', sending: 'queued', joined: 'queued', sent: 'sent', failed: 'failed' } as const

export const showDelivery = (row: ListedRow): Delivery => ({
  id: row.id,
  category: row.category,
  channelId: row.channelId,
  channelKind: row.channelKind,
  status: shownStatus[row.status],
  attempts: row.attempts,
  subject: row.joinedSubject ?? row.subject,
  text: row.joinedText ?? row.text,
  projectId: row.joinedSubject === null ? row.projectId : null,
  lastError: row.lastError,
  createdAt: iso(row.createdAt),
  sentAt: isoOrNull(row.sentAt),
  seenAt: isoOrNull(row.seenAt),
})
