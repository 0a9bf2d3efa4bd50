import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../test-database.ts'

test.skipIf(!process.env.BERTH_TEST_POSTGRES_URL)('JIT compilation is off on every connection', async () => {
  const database = await openTestDatabase({ kind: 'postgres' })
  try {
    const settings = await Promise.all([1, 2, 3].map(() => sql<{ jit: string }>`show jit`.execute(database.db)))
    expect(settings.map(({ rows }) => rows[0]?.jit)).toEqual(['off', 'off', 'off'])
  } finally {
    await database.close()
  }
})
