import { sql } from 'kysely'
import type { Database } from '../../src/platform/database.ts'

/**
 * Whether a job that no schedule started is queued or running: a retry, a clean-up, or the rest of an operation. A test that moves
 * the clock for such jobs stops when there is none left, since each simulated hour also runs every scheduled job of the instance.
 */
export async function hasRequestedJobs({ db }: Pick<Database, 'db'>): Promise<boolean> {
  const found = await db
    .selectFrom('jobs')
    .select('id')
    .where('status', 'in', ['queued', 'running'])
    .where(sql<string>`coalesce(${sql.ref('uniqueKey')}, '')`, 'not like', 'schedule:%')
    .executeTakeFirst()
  return found !== undefined
}
