import { afterEach, beforeEach, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../test-database.ts'
import { preparedQuery } from './prepared.ts'
import type { Db } from './schema.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await openTestDatabase({ kind: 'sqlite' })
})
afterEach(() => database.close())

const find = preparedQuery((db: Db, { key }: { key: string }) =>
  db.selectFrom('announcedOnce').selectAll().where('key', '=', key),
)
const put = preparedQuery((db: Db, row: { key: string; forgetAt: number }) =>
  db
    .insertInto('announcedOnce')
    .values(row)
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ forgetAt: row.forgetAt })),
)
const storedValue = async (db: Db, key = 'a') => (await find.first(db, { key }))?.forgetAt ?? 0
const raise = async (db: Db) => put.all(db, { key: 'a', forgetAt: (await storedValue(db)) + 1 })

test('a transaction reads what it wrote, and another reader does not', async () => {
  expect(await storedValue(database.db)).toBe(0)
  const reading = Promise.withResolvers<void>()
  const written = Promise.withResolvers<void>()
  const writing = database.transaction(async ({ db }) => {
    expect(await storedValue(db)).toBe(0)
    await put.all(db, { key: 'a', forgetAt: 1 })
    expect(await storedValue(db)).toBe(1)
    written.resolve()
    await reading.promise
    expect(await storedValue(db)).toBe(1)
  })
  await written.promise
  expect(await storedValue(database.db)).toBe(0)
  reading.resolve()
  await writing
  expect(await storedValue(database.db)).toBe(1)
})

test('what a transaction of a shared commit wrote and took back is read by none of the others', async () => {
  const failed = database.transaction(async ({ db }) => {
    await put.all(db, { key: 'a', forgetAt: 9 })
    throw new Error('refused')
  })
  const seen = database.transaction(({ db }) => storedValue(db))
  const raised = database.transaction(({ db }) => raise(db))
  await expect(failed).rejects.toThrow('refused')
  expect(await seen).toBe(0)
  await raised
  expect(await storedValue(database.db)).toBe(1)
})

test('a transaction reads what another process committed just before it began', async () => {
  const other = await database.openAgain()
  expect(await storedValue(database.db)).toBe(0)
  await other.transaction(async ({ db }) => put.all(db, { key: 'a', forgetAt: 5 }))
  await database.transaction(async ({ db }) => {
    expect(await storedValue(db)).toBe(5)
    await raise(db)
  })
  expect(await storedValue(other.db)).toBe(6)
  await other.close()
})

test('no change is lost when two processes read and raise the same row at once, with reads of it outside in between', async () => {
  const other = await database.openAgain()
  const raises = Array.from({ length: 60 }, (_, at) => {
    const { db, transaction } = at % 2 === 0 ? database : other
    return storedValue(db).then(() => transaction((context) => raise(context.db)))
  })
  await Promise.all(raises)
  expect([await storedValue(database.db), await storedValue(other.db)]).toEqual([60, 60])
  await other.close()
})

test('a statement of a transaction that has ended is refused', async () => {
  let ended: Db | undefined
  await database.transaction(async ({ db }) => {
    ended = db
    await put.all(db, { key: 'a', forgetAt: 1 })
  })
  const write = async () => put.all(ended!, { key: 'a', forgetAt: 2 })
  await expect(write()).rejects.toThrow('has ended')
  await expect((async () => storedValue(ended!))()).rejects.toThrow('has ended')
  expect(await storedValue(database.db)).toBe(1)
})

test('a read that fails in a transaction rejects it, and leaves no part of it', async () => {
  const wrong = preparedQuery((db: Db, { key }: { key: string }) =>
    db
      .selectFrom('announcedOnce')
      .select(({ fn }) => fn<number>('abs', [fn<number>('json', ['key'])]).as('n'))
      .where('key', '=', key),
  )
  const failing = database.transaction(async ({ db }) => {
    await put.all(db, { key: 'not json', forgetAt: 1 })
    await wrong.all(db, { key: 'not json' })
  })
  await expect(failing).rejects.toThrow('malformed JSON')
  expect(await storedValue(database.db, 'not json')).toBe(0)
})
