import type { Database } from '../../src/platform/database.ts'

/**
 * Removes all schedules but the named ones: an hour that passes in a test fires 18, which takes longer than what the hour is for. A
 * control plane that starts on the database sets them again.
 */
export async function keepSchedules({ db }: Pick<Database, 'db'>, keys: readonly string[]): Promise<void> {
  await db.deleteFrom('schedules').where('key', 'not in', keys).execute()
}
