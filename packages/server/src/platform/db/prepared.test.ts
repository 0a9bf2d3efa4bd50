import { expect, test } from 'vitest'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { preparedQuery } from './prepared.ts'
import type { Db } from './schema.ts'

describeOnEachDatabase('a prepared query', (open) => {
  const find = preparedQuery((db: Db, { kind, least }: { kind: string; least: number }) =>
    db
      .selectFrom('jobs')
      .select(['kind', 'priority'])
      .where('status', '=', 'queued')
      .where('kind', '=', kind)
      .where('priority', '>=', least)
      .orderBy('priority'),
  )

  test('takes new parameters with each call, on each database', async () => {
    const databases = [await open(), await open()]
    for (const [i, database] of databases.entries()) {
      await database.transaction(async ({ enqueue }) => {
        await enqueue({ kind: 'a' }, {}, { priority: 1 + i })
        await enqueue({ kind: 'a' }, {}, { priority: 5 + i })
        await enqueue({ kind: 'b' }, {}, { priority: 9 + i })
      })
    }
    for (const [i, { db }] of databases.entries()) {
      expect((await find.all(db, { kind: 'a', least: 0 })).map((row) => row.priority)).toEqual([1 + i, 5 + i])
      expect((await find.all(db, { kind: 'a', least: 3 })).map((row) => row.priority)).toEqual([5 + i])
      expect(await find.first(db, { kind: 'b', least: 0 })).toEqual({ kind: 'b', priority: 9 + i })
      expect(await find.first(db, { kind: "b' or '1'='1", least: 0 })).toBeUndefined()
    }
  })

  test('sees what its own transaction wrote', async () => {
    const database = await open()
    await database.transaction(async ({ db, enqueue }) => {
      await enqueue({ kind: 'a' }, {})
      expect(await find.all(db, { kind: 'a', least: 0 })).toHaveLength(1)
    })
    expect(await find.all(database.db, { kind: 'a', least: 0 })).toHaveLength(1)
  })

  test('may also write', async () => {
    const database = await open()
    await database.transaction(({ enqueue }) => enqueue({ kind: 'a' }, {}))
    const raise = preparedQuery((db: Db, { to }: { to: number }) =>
      db.updateTable('jobs').set({ priority: to }).returning('priority'),
    )
    expect(await raise.all(database.db, { to: 7 })).toEqual([{ priority: 7 }])
  })
})
