import { statSync } from 'node:fs'
import path from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Database } from './database.ts'
import { migrate } from './db/migrate.ts'
import { type Migration, migrations } from './db/migrations/index.ts'
import { preparedQuery } from './db/prepared.ts'
import { isUniqueViolation } from './db/violations.ts'
import { insertJob } from './jobs/enqueue.ts'
import { silentLog } from './log.ts'
import { describeOnEachDatabase } from './test-each-database.ts'

const kind = { kind: 'test.work' }
const countJobs = async ({ db }: Database) =>
  (
    await db
      .selectFrom('jobs')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
  ).count

describeOnEachDatabase('a database', (open, databaseKind) => {
  test('committed rows exist after the database is opened again', async () => {
    const database = await open()
    const { id } = await database.transaction(({ enqueue }) => enqueue(kind, { note: 'ä€𝄞' }))
    const again = await database.openAgain()
    const row = await again.db.selectFrom('jobs').select(['payload', 'createdAt']).where('id', '=', id).executeTakeFirst()
    await again.close()
    expect(JSON.parse(row?.payload ?? '')).toEqual({ note: 'ä€𝄞' })
    expect(typeof row?.createdAt).toBe('number')
  })

  test('a failed transaction leaves no rows, jobs or signals', async () => {
    const database = await open()
    const heard: object[] = []
    database.signals.subscribe('news', (event) => heard.push(event))
    const failing = database.transaction(async ({ enqueue, announce, signal }) => {
      await enqueue(kind, {})
      await announce('backup.failed', { organizationId: 'org_x', subject: 's', text: 't' })
      signal('news', { about: 'it' })
      throw new Error('changed my mind')
    })
    await expect(failing).rejects.toThrow('changed my mind')
    expect(await countJobs(database)).toBe(0)
    expect(heard).toEqual([])
  })

  test('queries still running when a transaction fails are rolled back', async () => {
    const database = await open()
    for (let at = 0; at < 10; at++) {
      let late: Promise<unknown> | undefined
      const failing = database.transaction(async ({ db }) => {
        await sql`select 1`.execute(db)
        const bad = sql`insert into nowhere values (1)`.execute(db)
        late = insertJob(db, new Date(), kind, {}).catch(() => undefined)
        await Promise.all([bad, late])
      })
      await expect(failing).rejects.toThrow(/nowhere/)
      await late
    }
    expect(await countJobs(database)).toBe(0)
  })

  test('signals of a transaction are sent after its commit', async () => {
    const database = await open()
    const seen = Promise.withResolvers<number>()
    database.signals.subscribe('news', () => void countJobs(database).then(seen.resolve))
    await database.transaction(async ({ enqueue, signal }) => {
      signal('news', {})
      await enqueue(kind, {})
    })
    expect(await seen.promise).toBe(1)
  })

  test('a read outside a transaction neither waits for it nor sees its changes', async () => {
    const database = await open()
    const mayCommit = Promise.withResolvers<void>()
    const wrote = Promise.withResolvers<void>()
    const writing = database.transaction(async ({ enqueue }) => {
      await enqueue(kind, {})
      wrote.resolve()
      await mayCommit.promise
    })
    await wrote.promise
    expect(await countJobs(database)).toBe(0)
    mayCommit.resolve()
    await writing
    expect(await countJobs(database)).toBe(1)
  })

  test('a query on the root database inside a transaction is refused, and so is a nested transaction', async () => {
    const database = await open()
    const find = preparedQuery((db: Database['db'], { id }: { id: string }) =>
      db.selectFrom('jobs').select('id').where('id', '=', id),
    )
    const leaving: (() => Promise<unknown>)[] = [
      () => countJobs(database),
      () => database.transaction(async () => {}),
      async () => find.first(database.db, { id: 'x' }),
      () => database.db.deleteFrom('jobs').execute(),
    ]
    for (const leave of leaving) await expect(database.transaction(leave)).rejects.toThrow('inside a transaction()')
    await database.transaction(({ enqueue }) => enqueue(kind, {}))
    expect(await countJobs(database)).toBe(1)
  })

  test('many concurrent writers all succeed', async () => {
    const database = await open()
    const writes = Array.from({ length: 40 }, (_, i) =>
      i % 2 ? database.transaction(({ enqueue }) => enqueue(kind, { i })) : insertJob(database.db, new Date(), kind, { i }),
    )
    await Promise.all(writes)
    expect(await countJobs(database)).toBe(40)
  })

  test('a lock is held by one transaction at a time', async () => {
    const database = await open()
    let holders = 0
    let limit = 0
    const hold = () =>
      database.transaction(async ({ lock }) => {
        await lock('audit')
        limit = Math.max(limit, ++holders)
        await new Promise((resolve) => setTimeout(resolve, 5))
        holders--
      })
    await Promise.all([hold(), hold(), hold(), hold()])
    expect(limit).toBe(1)
  })

  test('a boolean is stored as 0 or 1, and large numbers and counts are read as numbers', async () => {
    const database = await open()
    const big = Number.MAX_SAFE_INTEGER
    const yes = true as unknown as 1
    const { id } = await database.transaction(({ enqueue }) => enqueue(kind, {}))
    await database.db.updateTable('jobs').set({ cancelRequested: yes, finishedAt: big }).where('id', '=', id).execute()
    const find = preparedQuery((db: Database['db'], { flag }: { flag: 0 | 1 | boolean }) =>
      db
        .selectFrom('jobs')
        .select(['cancelRequested', 'finishedAt'])
        .where('cancelRequested', '=', flag as 1),
    )
    expect(await find.all(database.db, { flag: true })).toEqual([{ cancelRequested: 1, finishedAt: big }])
    const { sum } = await database.db
      .selectFrom('jobs')
      .select((eb) => eb.fn.sum<number>('finishedAt').as('sum'))
      .executeTakeFirstOrThrow()
    expect(sum).toBe(big)
  })

  test('a number too large to be exact is an error', async () => {
    const database = await open()
    const { id } = await database.transaction(({ enqueue }) => enqueue(kind, {}))
    await sql`update jobs set "finishedAt" = 9007199254740993 where id = ${id}`.execute(database.db)
    await expect(database.db.selectFrom('jobs').select('finishedAt').execute()).rejects.toThrow(/too large|out of range/i)
    expect(await countJobs(database)).toBe(1)
  })

  test('a second row with the same key is a unique violation', async () => {
    const database = await open()
    await database.transaction(({ enqueue }) => enqueue(kind, {}))
    const row = await database.db.selectFrom('jobs').selectAll().executeTakeFirstOrThrow()
    const error = await database.db
      .insertInto('jobs')
      .values(row)
      .execute()
      .catch((thrown: unknown) => thrown)
    expect(isUniqueViolation(error)).toBe(true)
  })

  test('the number of changed rows is reported', async () => {
    const database = await open()
    for (let i = 0; i < 3; i++) await database.transaction(({ enqueue }) => enqueue(kind, {}))
    const result = await database.db.updateTable('jobs').set({ priority: 1 }).executeTakeFirst()
    expect(result.numUpdatedRows).toBe(3n)
  })

  test('of two deadlocked transactions one is retried, and both succeed', async (context) => {
    if (databaseKind === 'sqlite') context.skip('SQLite has one writer at a time')
    const database = await open()
    const bothHoldOne = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    let runs = 0
    const cross = (mine: 0 | 1) =>
      database.transaction(async ({ lock }) => {
        runs++
        await lock(`row ${mine}`)
        bothHoldOne[mine].resolve()
        await bothHoldOne[1 - mine]?.promise
        await lock(`row ${1 - mine}`)
        return mine
      })
    expect(await Promise.all([cross(0), cross(1)])).toEqual([0, 1])
    expect(runs).toBe(3)
  })

  test('a column added by a newer control plane does not break prepared reads', async () => {
    const database = await open()
    const all = preparedQuery((db, { kind }: { kind: string }) => db.selectFrom('jobs').selectAll().where('kind', '=', kind))
    expect(await all.all(database.db, { kind: 'none' })).toEqual([])
    const newer = await database.openAgain()
    await sql`alter table jobs add column "later" text`.execute(newer.db)
    await newer.close()
    await database.transaction(({ enqueue }) => enqueue({ kind: 'some' }, {}))
    expect(await all.all(database.db, { kind: 'some' })).toMatchObject([{ kind: 'some', later: null }])
  })

  test('a column added by a newer control plane does not break prepared statements of transactions and writes', async () => {
    const database = await open()
    const find = preparedQuery((db, { key }: { key: string }) =>
      db.selectFrom('announcedOnce').selectAll().where('key', '=', key),
    )
    const put = preparedQuery((db, row: { key: string; forgetAt: number }) =>
      db.insertInto('announcedOnce').values(row).returningAll(),
    )
    const run = (key: string) =>
      database.transaction(async ({ db }) => [...(await put.all(db, { key, forgetAt: 1 })), await find.first(db, { key })])
    expect(await run('a')).toHaveLength(2)
    await put.all(database.db, { key: 'b', forgetAt: 1 })
    const newer = await database.openAgain()
    await sql`alter table "announcedOnce" add column "later" text`.execute(newer.db)
    await newer.close()
    const row = { forgetAt: 1, later: null }
    expect(await run('c')).toMatchObject([row, row])
    expect(await put.all(database.db, { key: 'd', forgetAt: 1 })).toMatchObject([row])
    expect(await run('e')).toMatchObject([row, row])
  })

  test('a connection lost inside a transaction fails that transaction only', async (context) => {
    if (databaseKind === 'sqlite') context.skip('SQLite has no connection to lose')
    const database = await open()
    const inside = Promise.withResolvers<number>()
    const killed = Promise.withResolvers<void>()
    const failing = database.transaction(async ({ db, enqueue }) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
      inside.resolve(rows[0]?.pid as number)
      await killed.promise
      await enqueue(kind, {})
    })
    await sql`select pg_terminate_backend(${await inside.promise})`.execute(database.db)
    // Long enough for the disconnect to arrive between two queries, when only the client itself receives it.
    await new Promise((resolve) => setTimeout(resolve, 50))
    killed.resolve()
    await expect(failing).rejects.toThrow(/connection|terminat|not queryable/i)
    await database.transaction(({ enqueue }) => enqueue(kind, {}))
    expect(await countJobs(database)).toBe(1)
  })

  test('the file is readable by its owner only', async (context) => {
    if (databaseKind === 'postgres') context.skip('PostgreSQL guards its own files')
    const { settings } = await open()
    for (const name of ['berth.db', 'berth.db-wal']) expect(statSync(path.join(settings.folder, name)).mode & 0o077).toBe(0)
  })

  test('a newer schema is refused with one line that names both versions', async () => {
    const database = await open()
    await sql`insert into "schemaMigrations" values ('999-from-tomorrow', 0)`.execute(database.db)
    await expect(database.openAgain()).rejects.toThrow(
      /^The database has schema 999-from-tomorrow, but this version of Berth supports only up to \d{3}-[a-z-]+\. Start the newer version\.$/,
    )
  })

  test('control planes that start concurrently migrate an empty database once', async (context) => {
    if (databaseKind === 'sqlite') context.skip('one process owns a SQLite folder')
    const database = await open()
    await sql`drop schema public cascade; create schema public`.execute(database.db)
    const started = await Promise.all([1, 2, 3].map(() => database.openAgain()))
    for (const each of started) {
      expect(await countJobs(each)).toBe(0)
      await each.close()
    }
  })

  test('several migrations are one log line, and no line is written without changes', async () => {
    const database = await open()
    const lines: object[] = []
    const log = { ...silentLog, info: (details: object, message: string) => void lines.push({ ...details, message }) }
    const two = ['901-first', '902-second'].map((name) => ({ name, up: async () => undefined }))
    await migrate(database.db, databaseKind, [...migrations, ...two], log)
    await migrate(database.db, databaseKind, [...migrations, ...two], log)
    expect(lines).toEqual([{ count: 2, schema: '902-second', message: 'database: schema migrated' }])
  })

  test('an API process waits until the worker has migrated the database, an empty one included', async () => {
    const database = await open()
    const added: string[] = []
    const next = (name: string): Migration => ({ name, up: async () => void added.push(name) })
    const all = [...migrations, next('901-next')]
    const warned = Promise.withResolvers<void>()
    const log = { ...silentLog, warn: () => warned.resolve() }
    const waiting = migrate(database.db, databaseKind, all, log, { wait: true })
    await Promise.race([warned.promise, waiting])
    expect(added).toEqual([])
    await migrate(database.db, databaseKind, all, silentLog)
    await waiting
    expect(added).toEqual(['901-next'])
    await sql`drop table "schemaMigrations"`.execute(database.db)
    const waitingAgain = migrate(database.db, databaseKind, [], silentLog, { wait: true })
    await expect(waitingAgain).resolves.toBeUndefined()
  })

  test('a process that may not migrate leaves the schema unchanged, and its check runs only if there are migrations', async () => {
    const database = await open()
    const check = () => Promise.reject(new Error('another machine has the projects'))
    await migrate(database.db, databaseKind, migrations, silentLog, { check })
    const up = () => Promise.reject(new Error('migrated'))
    const run = migrate(database.db, databaseKind, [...migrations, { name: '901-next', up }], silentLog, { check })
    await expect(run).rejects.toThrow('another machine has the projects')
  })

  test('a failed migration is rolled back and retried at the next start', async () => {
    const database = await open()
    const half: Migration = {
      name: '900-half',
      async up(db) {
        await db.schema.createTable('half').addColumn('id', 'text').execute()
        throw new Error('the disk is full')
      },
    }
    const run = (last: Migration) => migrate(database.db, databaseKind, [...migrations, last], silentLog)
    await expect(run(half)).rejects.toThrow('the disk is full')
    await run({ ...half, up: async (db) => void (await db.schema.createTable('half').addColumn('id', 'text').execute()) })
    expect((await database.db.introspection.getTables()).map((table) => table.name)).toContain('half')
  })
})
