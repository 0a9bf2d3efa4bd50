import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../tests/kit/machine.ts'
import { type TempFolder, tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import { openDatabase } from '../../platform/database.ts'
import { onServer } from '../../platform/test-database.ts'
import { type Config, readConfig } from '../config/config.ts'
import { DataFolderInUse, openDataFolder } from '../data-folder.ts'
import { copyDatabase, describeVersion, migrateDatabase, rehearseMigration, restoreDatabase } from './database-steps.ts'

let folder: TempFolder
let url: string | null = null
beforeEach(async () => {
  folder = await tempFolder('upgrade-steps')
})
afterEach(() => folder.remove())

const config = (): Config =>
  readConfig({
    PATH: process.env.PATH ?? '',
    HOME: folder.path,
    BERTH_DATA_DIR: folder.path,
    ...(url ? { BERTH_DATABASE_URL: url } : {}),
  })
const inFolder = (...names: string[]) => join(folder.path, ...names)
const organization = (id: string) => ({ id, name: id, slug: id, memberRepositories: null, quotas: null, createdAt: 1 })

async function onDatabase<Result>(
  work: (database: Awaited<ReturnType<typeof openDatabase>>) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase({ url: url ?? undefined, folder: folder.path })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

const add = (id: string) => onDatabase(({ db }) => db.insertInto('organizations').values(organization(id)).execute())
const names = () =>
  onDatabase(async ({ db }) =>
    (await db.selectFrom('organizations').select('name').orderBy('name').execute()).map((row) => row.name),
  )

function stepsOnADatabase(): void {
  test('a restored copy reverts a migration: rows, tables and the list of migrations', async () => {
    await add('kept')
    await copyDatabase(config(), inFolder('upgrade', 'copy'))
    await add('later')
    await onDatabase(async ({ db }) => {
      await sql`create table further (id text primary key, organization text references organizations (id))`.execute(db)
      await sql`insert into further values ('one', 'kept')`.execute(db)
      await sql`drop table invitations`.execute(db)
      await sql`insert into "schemaMigrations" values ('999-further', 0)`.execute(db)
    })
    await restoreDatabase(config(), inFolder('upgrade', 'copy'))
    expect(await names()).toEqual(['kept'])
    await onDatabase(async ({ db }) => {
      expect(await db.selectFrom('invitations').selectAll().execute()).toEqual([])
      await expect(sql`select * from further`.execute(db)).rejects.toThrow()
    })
    expect(existsSync(inFolder('upgrade', 'copy'))).toBe(false)
    // A restore that was killed after its work is repeated.
    await restoreDatabase(config(), inFolder('upgrade', 'copy'))
    expect(await names()).toEqual(['kept'])
  })

  test('no step changes the database while a control plane uses it', async () => {
    await add('kept')
    await copyDatabase(config(), inFolder('copy'))
    const held = await openDataFolder(folder.path)
    try {
      await expect(migrateDatabase(config())).rejects.toThrow(DataFolderInUse)
      await expect(restoreDatabase(config(), inFolder('copy'))).rejects.toThrow(DataFolderInUse)
    } finally {
      held.release()
    }
    await migrateDatabase(config())
    expect(await names()).toEqual(['kept'])
  })
}

describe('on SQLite', () => {
  stepsOnADatabase()

  test('a rehearsal migrates the copy, which is readable by its owner only', async () => {
    await add('kept')
    const copy = inFolder('upgrade', 'rehearsal', 'berth.db')
    await copyDatabase(config(), copy)
    expect(statSync(copy).mode & 0o777).toBe(0o600)
    await rehearseMigration(inFolder('upgrade', 'rehearsal'))
    await onDatabase(({ db }) => sql`insert into "schemaMigrations" values ('999-further', 0)`.execute(db))
    await expect(migrateDatabase(config())).rejects.toThrow('supports only up to')
  })

  test('the WAL of a killed process is not applied to the restored database', async () => {
    await add('kept')
    await copyDatabase(config(), inFolder('copy'))
    const files = ['berth.db', 'berth.db-wal']
    await onDatabase(async ({ db }) => {
      await db.insertInto('organizations').values(organization('later')).execute()
      for (const name of files) copyFileSync(inFolder(name), inFolder(`${name}.killed`))
    })
    for (const name of files) renameSync(inFolder(`${name}.killed`), inFolder(name))
    await restoreDatabase(config(), inFolder('copy'))
    // The pages of the log are those of another file.
    const database = new DatabaseSync(inFolder('berth.db'))
    expect(database.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    database.close()
    expect(await names()).toEqual(['kept'])
  })

  test('a failed copy leaves no file', async () => {
    await add('kept')
    await expect(copyDatabase(config(), inFolder('berth.db', 'copy'))).rejects.toThrow()
    expect(existsSync(inFolder('berth.db', 'copy'))).toBe(false)
    expect(await names()).toEqual(['kept'])
  })
})

describeNeeding(['postgres'], 'on PostgreSQL', () => {
  beforeEach(async () => {
    const name = `berth_upgrade_${randomBytes(6).toString('hex')}`
    await onServer(partOf('postgres'), (client) => client.query(`create database ${name}`))
    url = Object.assign(new URL(partOf('postgres')), { pathname: `/${name}` }).href
  })
  afterEach(async () => {
    await onServer(partOf('postgres'), (client) =>
      client.query(`drop database if exists ${new URL(url ?? '').pathname.slice(1)} with (force)`),
    )
    url = null
  })
  stepsOnADatabase()
})

test('a version describes itself with its migrations', () => {
  const { version, protocol, migrations } = describeVersion()
  expect({ version, protocol }).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/), protocol: 1 })
  expect(migrations).toContain('001-jobs')
})
