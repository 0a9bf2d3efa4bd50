import type { Db } from '../../db/schema.ts'
import { type Job, job } from '../../jobs/declare.ts'
import { type NotificationsDeps, nowOf } from './deps.ts'

const day = 86_400_000
const keepMs = 90 * day
const mostPerPerson = 2_000
const batch = 500

export interface PruneBounds {
  keepMs: number
  mostPerPerson: number
}

/** Keeps the feed bounded by age and by number; what is still to be sent stays. A few rows at a time, so that no write waits long. */
export function pruneJob(deps: NotificationsDeps): Job<Record<string, never>, undefined> {
  return job<Record<string, never>, undefined>('notifications.prune', {
    deadlineMs: 10 * 60_000,
    run: (_payload, _deps, abort) => prune(deps.database.db, nowOf(deps), { keepMs, mostPerPerson }, abort),
  })
}

export async function prune(db: Db, now: number, bounds: PruneBounds, abort: AbortSignal): Promise<void> {
  const untilDone = async (removeSome: () => Promise<number>) => {
    while (!abort.aborted && (await removeSome()) === batch);
  }
  await untilDone(() => removeEnded(db, now - bounds.keepMs))
  for (const person of await peopleWithMore(db, bounds.mostPerPerson)) {
    const before = await ageOfNth(db, person, bounds.mostPerPerson)
    if (before !== undefined) await untilDone(() => removeEnded(db, before, person))
  }
  // A day's grace: an announcement is written just before its deliveries are.
  await untilDone(() => removeUntold(db, now - day))
  await db.deleteFrom('announcedOnce').where('forgetAt', '<', now).execute()
}

interface Person {
  organizationId: string
  userId: string
}

async function removeEnded(db: Db, before: number, person?: Person): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('deliveries')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('deliveries')
        .select('id')
        .where('createdAt', '<', before)
        .where('status', 'in', ['sent', 'failed'])
        .$if(person !== undefined, (query) =>
          query.where('organizationId', '=', person!.organizationId).where('userId', '=', person!.userId),
        )
        .orderBy('createdAt')
        .limit(batch),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

const peopleWithMore = (db: Db, most: number): Promise<Person[]> =>
  db
    .selectFrom('deliveries')
    .select(['organizationId', 'userId'])
    .groupBy(['organizationId', 'userId'])
    .having(({ fn }) => fn.countAll(), '>', most)
    .execute()

async function ageOfNth(db: Db, { organizationId, userId }: Person, nth: number): Promise<number | undefined> {
  const row = await db
    .selectFrom('deliveries')
    .select('createdAt')
    .where('organizationId', '=', organizationId)
    .where('userId', '=', userId)
    .orderBy('createdAt', 'desc')
    .offset(nth - 1)
    .limit(1)
    .executeTakeFirst()
  return row?.createdAt
}

async function removeUntold(db: Db, before: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('announcements')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('announcements')
        .select('announcements.id')
        .where('announcements.createdAt', '<', before)
        .where(({ not, exists, selectFrom }) =>
          not(exists(selectFrom('deliveries').select('deliveries.id').whereRef('announcementId', '=', 'announcements.id'))),
        )
        .orderBy('announcements.createdAt')
        .limit(batch),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
