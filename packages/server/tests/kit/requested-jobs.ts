import { sql } from 'kysely'
import type { Database } from '../../src/platform/database.ts'

/**
 * Whether a job is queued or running that no schedule started: a retry, a clean-up, or the rest of an operation. A test that lets
 * hours pass for it stops as soon as there is none: each hour also runs every scheduled job of the instance.
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
