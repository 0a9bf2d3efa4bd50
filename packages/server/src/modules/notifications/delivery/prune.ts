import type { Db } from '../../../platform/db/schema.ts'
import { type Job, job } from '../../../platform/jobs/declare.ts'
import { type NotificationsDeps, nowOf } from '../deps.ts'

const day = 86_400_000

export interface PruneBounds {
  keepMs: number
  maxPerUser: number
}

const bounds: PruneBounds = { keepMs: 90 * day, maxPerUser: 2_000 }
/** Small, because deleting an announcement also deletes its deliveries to a whole organisation. */
const batch = 50

/**
 * Limits the feed by age and by count; unsent deliveries are kept. It deletes a few rows at a time, so that no other write waits
 * long.
 */
export function pruneJob(deps: NotificationsDeps): Job<Record<string, never>, undefined> {
  return job<Record<string, never>, undefined>('notifications.prune', {
    deadlineMs: 10 * 60_000,
    run: (_payload, _deps, abort) => prune(deps.database.db, nowOf(deps), bounds, abort),
  })
}

export async function prune(db: Db, now: number, { keepMs, maxPerUser }: PruneBounds, abort: AbortSignal): Promise<void> {
  const untilDone = async (removeSome: () => Promise<number>) => {
    while (!abort.aborted && (await removeSome()) === batch);
  }
  for (const person of await peopleWithMore(db, maxPerUser)) {
    const before = await ageOfNth(db, person, maxPerUser)
    if (before !== undefined) await untilDone(() => removeEnded(db, person, before))
  }
  await untilDone(() => removeOld(db, now - keepMs))
  // A day's grace, because an announcement is written just before its deliveries.
  await untilDone(() => removeWithoutDeliveries(db, now - day))
  await db.deleteFrom('announcedOnce').where('forgetAt', '<', now).execute()
}

interface Person {
  organizationId: string
  userId: string
}

const peopleWithMore = (db: Db, max: number): Promise<Person[]> =>
  db
    .selectFrom('deliveries')
    .select(['organizationId', 'userId'])
    .groupBy(['organizationId', 'userId'])
    .having(({ fn }) => fn.countAll(), '>', max)
    .execute()

const ofPerson = (db: Db, { organizationId, userId }: Person) =>
  db.selectFrom('deliveries').where('organizationId', '=', organizationId).where('userId', '=', userId)

async function ageOfNth(db: Db, person: Person, nth: number): Promise<number | undefined> {
  const newestFirst = ofPerson(db, person).select('createdAt').orderBy('createdAt', 'desc')
  return (
    await newestFirst
      .offset(nth - 1)
      .limit(1)
      .executeTakeFirst()
  )?.createdAt
}

async function removeEnded(db: Db, person: Person, before: number): Promise<number> {
  const ended = ofPerson(db, person).where('createdAt', '<', before).where('status', 'in', ['sent', 'failed'])
  const { numDeletedRows } = await db
    .deleteFrom('deliveries')
    .where('id', 'in', ended.select('id').orderBy('createdAt').limit(batch))
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/** Removes old announcements with their deliveries, unless one is still unsent. */
const removeOld = (db: Db, before: number): Promise<number> =>
  removeAnnouncements(
    db,
    olderThan(db, before).where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('deliveries')
            .select('deliveries.id')
            .whereRef('announcementId', '=', 'announcements.id')
            .where('status', 'in', ['queued', 'sending']),
        ),
      ),
    ),
  )

/** Removes announcements without deliveries. */
const removeWithoutDeliveries = (db: Db, before: number): Promise<number> =>
  removeAnnouncements(
    db,
    olderThan(db, before)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('deliveries').select('deliveries.id').whereRef('announcementId', '=', 'announcements.id'))),
      )
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('joinedDeliveries').select('joinedDeliveries.id').whereRef('announcementId', '=', 'announcements.id'),
          ),
        ),
      ),
  )

const olderThan = (db: Db, before: number) =>
  db.selectFrom('announcements').select('announcements.id').where('announcements.createdAt', '<', before)

async function removeAnnouncements(db: Db, announcements: ReturnType<typeof olderThan>): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('announcements')
    .where('id', 'in', announcements.orderBy('announcements.createdAt').limit(batch))
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
