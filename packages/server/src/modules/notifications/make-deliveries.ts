import type { Insertable } from 'kysely'
import { newId } from '../../db/ids.ts'
import type { DeliveriesTable, JoinedDeliveriesTable } from '../../db/tables/notifications.ts'
import type { Bound } from '../../db/transaction.ts'
import type { Candidate } from './audience.ts'
import { burst, type Place, placeOf } from './burst.ts'
import { deliverKind, groupOf } from './deliver.ts'
import * as store from './delivery-store.ts'

export interface Target extends Candidate {
  userId: string
}

interface Making {
  bound: Bound
  announced: Pick<DeliveriesTable, 'organizationId' | 'category'> & { id: string }
  now: number
}

type NewDelivery = Insertable<DeliveriesTable>
type NewJoined = Insertable<JoinedDeliveriesTable>

/** Writes what each of these channels gets of one announcement, with the jobs that take it there. */
export async function makeDeliveries(targets: readonly Target[], making: Making): Promise<void> {
  const { announced, now } = making
  const { db } = making.bound
  const channelIds = targets.map(({ id }) => id)
  const recent = await store.findRecent(db, channelIds, announced.category, now)
  const places = targets.map(({ id }) => placeOf(recent.get(id) ?? [], now))
  const wanted = places.flatMap((place) => (place.as === 'joined' ? [place.into] : []))
  const open = await store.joinInto(db, wanted)
  const deliveries: NewDelivery[] = []
  const joined: NewJoined[] = []
  for (const [at, target] of targets.entries()) {
    const place = settled(places[at] as Place, open, now)
    if (place.as === 'joined') joined.push({ id: newId('ndl'), deliveryId: place.into, announcementId: announced.id })
    else if (place.as === 'alone') deliveries.push(await alone(target, making))
    else {
      const gathered = await gathering(target, place, making)
      deliveries.push(gathered.head)
      joined.push(...gathered.joined)
    }
  }
  await store.insertDeliveries(db, deliveries)
  await store.insertJoined(db, joined)
}

/** The one to be joined into may have been sent in this very moment: then this one begins the next. */
const settled = (place: Place, open: ReadonlySet<string>, now: number): Place =>
  place.as === 'joined' && !open.has(place.into) ? { as: 'head', dueAt: now + burst.windowMs, absorbs: [] } : place

/** In the feed, recorded is delivered: the row is the entry. Elsewhere a job takes it there. */
async function alone(target: Target, making: Making): Promise<NewDelivery> {
  const row = newDelivery(target, making)
  if (target.kind === 'in_app') return { ...row, status: 'sent', attempts: 1, sentAt: making.now }
  return { ...row, jobId: await enqueueSend(row, making.now + burst.gatherMs, making) }
}

async function gathering(target: Target, { dueAt, absorbs }: Extract<Place, { as: 'head' }>, making: Making) {
  const row = newDelivery(target, making)
  const taken = await store.takeWaiting(making.bound.db, absorbs)
  const joined = taken.map(({ id, announcementId }): NewJoined => ({ id, announcementId, deliveryId: row.id }))
  const head: NewDelivery = { ...row, joinedCount: 1 + taken.length, jobId: await enqueueSend(row, dueAt, making) }
  return { head, joined }
}

async function enqueueSend({ id, channelId }: NewDelivery, at: number, { bound }: Making): Promise<string> {
  const options = { runAt: new Date(at), groupKey: groupOf(channelId) }
  return (await bound.enqueue(deliverKind, { deliveryId: id }, options)).id
}

const newDelivery = ({ id: channelId, kind, userId }: Target, { announced, now }: Making): NewDelivery => ({
  id: newId('ndl'),
  announcementId: announced.id,
  organizationId: announced.organizationId,
  userId,
  channelId,
  channelKind: kind,
  category: announced.category,
  status: 'queued',
  attempts: 0,
  jobId: null,
  joinedCount: 0,
  createdAt: now,
  sentAt: null,
})
