import type { Db } from '../../db/schema.ts'
import { type Job, job } from '../../jobs/declare.ts'
import { type NotificationsDeps, nowOf } from './deps.ts'

const day = 86_400_000

export interface PruneBounds {
  keepMs: number
  /** Entries that a person can list; what was joined into one goes with it. */
  mostPerPerson: number
}

const bounds: PruneBounds = { keepMs: 90 * day, mostPerPerson: 2_000 }
/** An announcement takes the deliveries of a whole organisation with it. */
const batch = 50

/** Keeps the feed bounded by age and by number; what is still to be sent stays. A few rows at a time, so that no write waits long. */
export function pruneJob(deps: NotificationsDeps): Job<Record<string, never>, undefined> {
  return job<Record<string, never>, undefined>('notifications.prune', {
    deadlineMs: 10 * 60_000,
    run: (_payload, _deps, abort) => prune(deps.database.db, nowOf(deps), bounds, abort),
  })
}

export async function prune(db: Db, now: number, { keepMs, mostPerPerson }: PruneBounds, abort: AbortSignal): Promise<void> {
  const untilDone = async (removeSome: () => Promise<number>) => {
    while (!abort.aborted && (await removeSome()) === batch);
  }
  for (const person of await peopleWithMore(db, mostPerPerson)) {
    const before = await ageOfNth(db, person, mostPerPerson)
    if (before !== undefined) await untilDone(() => removeListed(db, person, before))
  }
  // Deliveries go with what they told; one that is still to be sent keeps it.
  await untilDone(() => removeAnnouncements(db, now - keepMs, ['queued', 'sending']))
  // A day's grace: an announcement is written just before its deliveries are.
  await untilDone(() => removeAnnouncements(db, now - day, 'any'))
  await db.deleteFrom('announcedOnce').where('forgetAt', '<', now).execute()
}

interface Person {
  organizationId: string
  userId: string
}

const listed = (db: Pick<Db, 'selectFrom'>) => db.selectFrom('deliveries').where('joinedInto', 'is', null)

const peopleWithMore = (db: Db, most: number): Promise<Person[]> =>
  listed(db)
    .select(['organizationId', 'userId'])
    .groupBy(['organizationId', 'userId'])
    .having(({ fn }) => fn.countAll(), '>', most)
    .execute()

async function ageOfNth(db: Db, { organizationId, userId }: Person, nth: number): Promise<number | undefined> {
  const row = await listed(db)
    .select('createdAt')
    .where('organizationId', '=', organizationId)
    .where('userId', '=', userId)
    .orderBy('createdAt', 'desc')
    .offset(nth - 1)
    .limit(1)
    .executeTakeFirst()
  return row?.createdAt
}

async function removeListed(db: Db, { organizationId, userId }: Person, before: number): Promise<number> {
  const rows = await listed(db)
    .select('id')
    .where('organizationId', '=', organizationId)
    .where('userId', '=', userId)
    .where('createdAt', '<', before)
    .where('status', 'in', ['sent', 'failed'])
    .orderBy('createdAt')
    .limit(batch)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return 0
  await db.deleteFrom('deliveries').where('joinedInto', 'in', ids).execute()
  await db.deleteFrom('deliveries').where('id', 'in', ids).execute()
  return ids.length
}

/** Those that are older and of which no delivery is in one of these states. */
async function removeAnnouncements(db: Db, before: number, kept: readonly ('queued' | 'sending')[] | 'any'): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('announcements')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('announcements')
        .select('announcements.id')
        .where('announcements.createdAt', '<', before)
        .where(({ not, exists, selectFrom }) => {
          const told = selectFrom('deliveries').select('deliveries.id').whereRef('announcementId', '=', 'announcements.id')
          return not(exists(kept === 'any' ? told : told.where('status', 'in', kept)))
        })
        .orderBy('announcements.createdAt')
        .limit(batch),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
