import { expect, test } from 'vitest'
import type { Database } from '../database.ts'
import { describeOnEachDatabase } from '../test-each-database.ts'
import { newId } from './ids.ts'
import { recordedBy, unrecorded, WriteRecord, writeAuditRecord } from './write-record.ts'

const put = (db: Database['db'], key: string) => db.insertInto('instance').values({ key, value: 'x' }).execute()

describeOnEachDatabase('the record of a request', (open) => {
  const begin = async () => {
    const database = await open()
    const { db, transaction } = database
    const entry = `record ${newId('aud')}`
    const record = new WriteRecord({
      append: async (transaction) => void (await put(transaction.db, entry)),
      appendAlone: () => unrecorded(() => transaction(async ({ db }) => void (await put(db, entry)))),
    })
    const keys = async () => (await db.selectFrom('instance').select('key').execute()).map(({ key }) => key)
    return { db, transaction, record, entry, keys }
  }

  test('is committed with the first transaction that writes, and with no other', async () => {
    const { transaction, record, entry, keys } = await begin()
    await recordedBy(record, async () => {
      await transaction(({ db }) => db.selectFrom('instance').selectAll().execute())
      expect(await keys()).toEqual([])
      await transaction(({ db }) => db.deleteFrom('instance').where('key', '=', 'nothing').execute())
      expect(await keys()).toEqual([])
      await transaction(({ db }) => put(db, 'one'))
      await transaction(({ db }) => put(db, 'two'))
    })
    expect((await keys()).toSorted()).toEqual(['one', entry, 'two'].toSorted())
  })

  test('is committed with a single statement outside a transaction, whose result is unchanged', async () => {
    const { db, record, entry, keys } = await begin()
    await recordedBy(record, () => put(db, 'one'))
    expect((await keys()).toSorted()).toEqual(['one', entry].toSorted())
    const changed = await db.updateTable('instance').set({ value: 'y' }).where('key', '=', 'one').executeTakeFirst()
    expect(changed.numUpdatedRows).toBe(1n)
  })

  test('that cannot be stored rolls back the write, and is stored with the next one', async () => {
    const { db, transaction, entry, record, keys } = await begin()
    await put(db, entry)
    await expect(recordedBy(record, () => put(db, 'one'))).rejects.toThrow()
    await expect(recordedBy(record, () => transaction(({ db }) => put(db, 'two')))).rejects.toThrow()
    expect(await keys()).toEqual([entry])
    await db.deleteFrom('instance').execute()
    await recordedBy(record, () => put(db, 'three'))
    expect((await keys()).toSorted()).toEqual([entry, 'three'].toSorted())
  })

  test('of two transactions at once it commits with one, and each of them ends', async () => {
    const { transaction, record, entry, keys } = await begin()
    await recordedBy(record, () => Promise.all(['one', 'two', 'three'].map((key) => transaction(({ db }) => put(db, key)))))
    expect((await keys()).toSorted()).toEqual(['one', entry, 'three', 'two'].toSorted())
  })

  test('is rolled back with a transaction, and stored with the next one', async () => {
    const { transaction, record, entry, keys } = await begin()
    await recordedBy(record, async () => {
      const failing = transaction(async ({ db }) => {
        await put(db, 'one')
        throw new Error('changed my mind')
      })
      await expect(failing).rejects.toThrow('changed my mind')
      expect(await keys()).toEqual([])
      await transaction(({ db }) => put(db, 'two'))
    })
    expect((await keys()).toSorted()).toEqual([entry, 'two'].toSorted())
  })

  test('is stored once for several concurrent transactions', async () => {
    const { transaction, record, entry, keys } = await begin()
    const names = Array.from({ length: 8 }, (_, at) => `n${at}`)
    await recordedBy(record, () => Promise.all(names.map((name) => transaction(({ db }) => put(db, name)))))
    expect((await keys()).toSorted()).toEqual([...names, entry].toSorted())
  })

  test('a running transaction and an effect outside the database do not wait for each other', async () => {
    const database = await open()
    const { db, transaction } = database
    let count = 0
    const append = async ({ db }: { db: Database['db'] }) => void (await put(db, `entry ${++count}`))
    const record = new WriteRecord({ append, appendAlone: () => unrecorded(() => transaction(append)) })
    await recordedBy(record, async () => {
      const [isWriting, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const written = transaction(async ({ db }) => {
        await put(db, 'one')
        isWriting.resolve()
        await mayEnd.promise
      })
      await isWriting.promise
      const recorded = writeAuditRecord()
      mayEnd.resolve()
      await Promise.all([written, recorded])
    })
    const keys = (await db.selectFrom('instance').select('key').execute()).map(({ key }) => key)
    expect(keys).toContain('one')
    expect(keys.filter((key) => key.startsWith('entry')).length).toBeGreaterThan(0)
  })

  test('is stored before an effect outside the database, and not at all after the request has ended', async () => {
    const { db, record, entry, keys } = await begin()
    await recordedBy(record, async () => {
      await writeAuditRecord()
      expect(await keys()).toEqual([entry])
      await writeAuditRecord()
    })
    record.close()
    await recordedBy(record, () => put(db, 'later'))
    expect((await keys()).toSorted()).toEqual([entry, 'later'].toSorted())
  })
})
