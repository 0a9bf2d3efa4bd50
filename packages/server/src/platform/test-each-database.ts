import { afterEach, beforeEach, describe } from 'vitest'
import type { Database } from './database.ts'
import { openTestDatabase, type TestDatabase, type TestDatabaseOptions } from './test-database.ts'

export type OpenDatabase = (options?: TestDatabaseOptions) => Promise<TestDatabase>

/** Test support: the same tests on SQLite and on PostgreSQL. Each test's databases are removed after it. */
export function describeOnEachDatabase(name: string, tests: (open: OpenDatabase, kind: Database['kind']) => void): void {
  describe.each(['sqlite', 'postgres'] as const)(`${name} (%s)`, (kind) => {
    const opened: TestDatabase[] = []
    beforeEach((context) => {
      if (kind === 'postgres' && !process.env.BERTH_TEST_POSTGRES_URL) {
        context.skip('no PostgreSQL here: BERTH_TEST_POSTGRES_URL is not set')
      }
    })
    afterEach(async () => {
      for (const database of opened.splice(0)) await database.close()
    })
    tests(async (options) => {
      const database = await openTestDatabase({ ...options, kind })
      opened.push(database)
      return database
    }, kind)
  })
}
