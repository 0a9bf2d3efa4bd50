import { setImmediate as nextEvent } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { PostgresReadCache } from './postgres-read-cache.ts'

/** A database of one value, whose snapshot changes with each commit. */
function fakeDatabase() {
  const database = { value: 'one', commits: 0, sent: [] as string[], now: 0, hold: Promise.resolve() }
  const cache = new PostgresReadCache(
    async (sql) => {
      const isCheck = sql.includes('pg_current_snapshot')
      database.sent.push(isCheck ? 'check' : 'read')
      await database.hold
      await nextEvent()
      return isCheck ? [{ snapshot: String(database.commits) }] : [{ id: 'x', value: database.value }]
    },
    () => database.now,
  )
  /** The answer to a commit is an event of its own, as on a real connection. */
  const commit = async (value: string) => {
    database.value = value
    database.commits += 1
    await nextEvent()
  }
  const read = async () => (await cache.read('select', []))[0]?.value
  return { database, cache, commit, read }
}

test('a cached read costs one check, shared by waiting reads', async () => {
  const { database, read } = fakeDatabase()
  await read()
  await read()
  database.sent.length = 0
  expect(await Promise.all([read(), read(), read()])).toEqual(['one', 'one', 'one'])
  expect(database.sent).toEqual(['check'])
})

test('a read during a check waits for the next check', async () => {
  const { database, commit, read } = fakeDatabase()
  await read()
  await read()
  const held = Promise.withResolvers<void>()
  database.sent.length = 0
  const first = read()
  await nextEvent()
  database.hold = held.promise
  await commit('two')
  const second = read()
  held.resolve()
  expect(await second).toBe('two')
  await first
})

test('after a commit the next read queries again; unchanged rows are the same objects', async () => {
  const { database, cache, commit, read } = fakeDatabase()
  await read()
  await read()
  const rows = await cache.read('select', [])
  await commit('one')
  expect(await cache.read('select', [])).toBe(rows)
  await commit('two')
  // Right after a commit it queries the database without a check.
  database.sent.length = 0
  expect(await read()).toBe('two')
  expect(database.sent).toEqual(['read'])
  await commit('three')
  database.now += 1000
  expect(await read()).toBe('three')
})

test('a failed check fails the waiting reads and no later one', async () => {
  const { database, read } = fakeDatabase()
  await read()
  await read()
  database.hold = Promise.reject(new Error('gone'))
  await expect(read()).rejects.toThrow('gone')
  database.hold = Promise.resolve()
  expect(await read()).toBe('one')
})
