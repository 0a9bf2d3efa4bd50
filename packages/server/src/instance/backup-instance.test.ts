import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TempFolder, tempFolder } from '../../../../tests/kit/temp-folder.ts'
import { openDatabase } from '../platform/database.ts'
import { openTestDatabase, type TestDatabase } from '../platform/test-database.ts'
import { backupInstance, InstanceBackupRefused, restoreInstance } from './backup-instance.ts'
import { backupKeyFile } from './backup-key.ts'
import { type Config, readConfig } from './config.ts'

let folder: TempFolder
let database: TestDatabase
let fresh: string
beforeEach(async () => {
  folder = await tempFolder('instance-postgres')
  database = await openTestDatabase({ kind: 'postgres' })
  fresh = `berth_fresh_${Date.now()}_${process.pid}`
  await onServer((client) => client.query(`create database ${fresh}`))
})
afterEach(async () => {
  await onServer((client) => client.query(`drop database if exists ${fresh} with (force)`))
  await database.close()
  await folder.remove()
})

async function onServer(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client(database.settings.url)
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

function configOf(name: string, url: string): Config {
  const dataDir = join(folder.path, name)
  mkdirSync(dataDir, { recursive: true })
  return readConfig({ PATH: process.env.PATH ?? '', HOME: folder.path, BERTH_DATA_DIR: dataDir, BERTH_DATABASE_URL: url })
}

const organizations = async (url: string) => {
  const opened = await openDatabase({ url, folder: folder.path })
  try {
    return await opened.db.selectFrom('organizations').select(['id', 'name']).execute()
  } finally {
    await opened.close()
  }
}

test('an instance on PostgreSQL is one file and one key, and comes back into an empty database alone', async () => {
  const { url = '' } = database.settings
  const now = Date.now()
  await database.db
    .insertInto('organizations')
    .values({ id: 'org_kept', name: 'Kept ’n’ safe', slug: 'kept', createdAt: now, updatedAt: now } as never)
    .execute()
  const config = configOf('old', url)
  writeFileSync(join(config.dataDir, 'kept.txt'), 'in the folder')
  const file = join(folder.path, 'instance.tar.zst.age')
  const { keyFile } = await backupInstance(config, file)
  expect(keyFile).toBe(backupKeyFile(config.dataDir))
  expect(readFileSync(file).includes('Kept')).toBe(false)

  await expect(restoreInstance(configOf('again', url), file, keyFile)).rejects.toThrow(InstanceBackupRefused)
  expect(existsSync(join(folder.path, 'again'))).toBe(false)

  const blank = Object.assign(new URL(url), { pathname: `/${fresh}` }).href
  const { dataDir } = await restoreInstance(configOf('new', blank), file, keyFile)
  expect(readFileSync(join(dataDir, 'kept.txt'), 'utf8')).toBe('in the folder')
  expect(existsSync(join(dataDir, 'berth.sql'))).toBe(false)
  expect(await organizations(blank)).toEqual(await organizations(url))
})
