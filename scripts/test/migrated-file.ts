// Global set-up of the end-to-end tests: creates a migrated SQLite file, which tests/kit/start-berth.ts copies into new data folders.
// Migrating an empty database takes a fifth of an instance's processor time at its start. The tests of `berth up` and of the package
// start without the file.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../packages/server/src/platform/database.ts'

/** Returns the clean-up. */
export async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-migrated-'))
  await (await openDatabase({ folder })).close()
  process.env.BERTH_TEST_MIGRATED_FILE = join(folder, 'berth.db')
  return () => rm(folder, { recursive: true, force: true })
}
