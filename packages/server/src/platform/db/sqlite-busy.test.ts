import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '../database.ts'
import { openTestDatabase, type TestDatabase } from '../test-database.ts'

/** Two databases on one file, with connections of their own, as two processes have them. */
let one: TestDatabase
let other: Database
beforeAll(async () => {
  one = await openTestDatabase({ kind: 'sqlite' })
  other = await one.openAgain()
})
afterAll(async () => {
  await other?.close()
  await one?.close()
})

const insert = ({ db }: Pick<Database, 'db'>, hostname: string) =>
  db.insertInto('acmeChallenges').values({ token: hostname, keyAuthorization: 'key', createdAt: 0 }).execute()
const tokens = async ({ db }: Pick<Database, 'db'>) =>
  (await db.selectFrom('acmeChallenges').select('token').orderBy('token').execute()).map(({ token }) => token)

test('a write waits for the open transaction of another process without blocking the event loop', async () => {
  const { promise: isHeld, resolve: release } = Promise.withResolvers<void>()
  const { promise: hasBegun, resolve: begun } = Promise.withResolvers<void>()
  const first = one.transaction(async ({ db }) => {
    await insert({ db }, 'first')
    begun()
    await isHeld
  })
  await hasBegun
  const ended: string[] = []
  const single = insert(other, 'single').then(() => ended.push('single'))
  const within = other.transaction(({ db }) => insert({ db }, 'within')).then(() => ended.push('within'))
  // The timers of this loop run, and a read of the other process sees the last commit.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
  expect({ ended, seen: await tokens(other) }).toEqual({ ended: [], seen: [] })
  release()
  await Promise.all([first, single, within])
  expect(await tokens(one)).toEqual(['first', 'single', 'within'])
  await one.db.deleteFrom('acmeChallenges').execute()
})

test('two processes that write continuously both succeed and lose nothing', async () => {
  const write = async (database: Database, name: string) => {
    for (let n = 0; n < 150; n++)
      await database.transaction(async ({ db }) => {
        await insert({ db }, `${name}-${n}`)
        await db.updateTable('acmeChallenges').set({ keyAuthorization: 'changed' }).where('token', '=', `${name}-${n}`).execute()
      })
  }
  await Promise.all([write(one, 'one'), write(other, 'other')])
  expect((await tokens(one)).length).toBe(300)
})

test('an error other than a busy file is reported at once', async () => {
  await insert(one, 'twice')
  await expect(insert(other, 'twice')).rejects.toThrow('UNIQUE')
})
