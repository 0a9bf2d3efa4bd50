import type { CategoryId } from '@berth/contract'
import type { Database } from '../../../platform/database.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { AnnouncementEvent } from '../../../platform/jobs/announce.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'

/** An announcement that is made once, across restarts. */
export interface Notice {
  /** Keys of the announcement: the first decides whether it was made; the others are marked with it. */
  keys: readonly [string, ...string[]]
  /** The watcher no longer finds the condition after this time, so the mark can be deleted. */
  forgetAt: Date
  category: CategoryId
  event: AnnouncementEvent
}

/** Announces those that were not announced before. */
export async function announceNew(database: Database, notices: readonly Notice[]): Promise<void> {
  const alreadyNotified = await findNotified(
    database.db,
    notices.map(({ keys }) => keys[0]),
  )
  for (const notice of notices) {
    if (!alreadyNotified.has(notice.keys[0])) await database.transaction((transaction) => announceOnce(transaction, notice))
  }
}

/** Commits the mark and the announcement together. */
async function announceOnce({ db, announce }: TransactionContext, { keys, forgetAt, category, event }: Notice): Promise<void> {
  const inserted = await db
    .insertInto('announcedOnce')
    .values(keys.map((key) => ({ key, forgetAt: forgetAt.getTime() })))
    .onConflict((conflict) => conflict.doNothing())
    .returning('key')
    .execute()
  if (inserted.some(({ key }) => key === keys[0])) await announce(category, event)
}

const chunk = 500

async function findNotified(db: Db, keys: readonly string[]): Promise<Set<string>> {
  const alreadyNotified = new Set<string>()
  for (let at = 0; at < keys.length; at += chunk) {
    const rows = await db
      .selectFrom('announcedOnce')
      .select('key')
      .where('key', 'in', keys.slice(at, at + chunk))
      .execute()
    for (const { key } of rows) alreadyNotified.add(key)
  }
  return alreadyNotified
}
