import type { Database } from '../../src/platform/database.ts'

/**
 * Removes all schedules except the named ones: moving the clock by an hour fires 18 schedules, which takes longer than the test
 * itself. A control plane that starts on the database creates the removed ones again.
 */
export async function keepSchedules({ db }: Pick<Database, 'db'>, keys: readonly string[]): Promise<void> {
  await db.deleteFrom('schedules').where('key', 'not in', keys).execute()
}
