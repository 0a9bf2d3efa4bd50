import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { describeNeeding, partOf } from '../../../../../tests/kit/machine.ts'
import { type TempFolder, tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import { openDatabase } from '../../platform/database.ts'
import { silentLog } from '../../platform/log.ts'
import { claimMachine } from '../../platform/machines/machine-lease.ts'
import { onServer } from '../../platform/test-database.ts'
import { type Config, readConfig } from '../config/config.ts'
import { machineFileName, readMachineIdentity } from '../machine-identity.ts'
import { backupInstance, InstanceBackupRefused, restoreInstance } from './backup-instance.ts'
import { postgresEnvironment } from './postgres-copy.ts'

describeNeeding(['postgres'], 'an instance on PostgreSQL', () => {
  let folder: TempFolder
  let urls: { old: string; fresh: string }
  beforeEach(async () => {
    folder = await tempFolder('instance-postgres')
    const name = `berth_instance_${randomBytes(6).toString('hex')}`
    urls = { old: databaseUrl(`${name}_old`), fresh: databaseUrl(`${name}_fresh`) }
    for (const url of Object.values(urls))
      await onServer(partOf('postgres'), (client) => client.query(`create database ${nameIn(url)}`))
    const database = await openDatabase({ url: urls.old, folder: folder.path })
    await database.db.insertInto('organizations').values(kept).execute()
    await database.close()
  })
  afterEach(async () => {
    for (const url of Object.values(urls))
      await onServer(partOf('postgres'), (client) => client.query(`drop database if exists ${nameIn(url)} with (force)`))
    await folder.remove()
  })

  function configOf(name: string, url: string | null): Config {
    const dataDir = join(folder.path, name)
    mkdirSync(dataDir, { recursive: true })
    const env = { PATH: process.env.PATH ?? '', HOME: folder.path, BERTH_DATA_DIR: dataDir, BERTH_DOCKER_SOCKET: '/nowhere' }
    return readConfig(url === null ? env : { ...env, BERTH_DATABASE_URL: url })
  }

  async function saved() {
    const config = configOf('old', urls.old)
    writeFileSync(join(config.dataDir, 'kept.txt'), 'in the folder')
    return backupInstance(config, join(folder.path, 'instance.tar.zst.age'))
  }

  test('is one file and one key, and is restored into a new database', async () => {
    const { file, keyFile } = await saved()
    expect(readFileSync(file).includes('Kept')).toBe(false)
    const { dataDir } = await restoreInstance(configOf('new', urls.fresh), file, keyFile)
    expect(readFileSync(join(dataDir, 'kept.txt'), 'utf8')).toBe('in the folder')
    expect(existsSync(join(dataDir, 'berth.sql'))).toBe(false)
    expect(await organizationsAt(urls.fresh)).toEqual(await organizationsAt(urls.old))
    expect(await organizationsAt(urls.fresh)).toHaveLength(1)
  })

  test('excludes the machine lease, so that the first machine that starts on the copy runs the projects', async () => {
    const config = configOf('old', urls.old)
    const claim = async (of: Config) => {
      const database = await openDatabase({ url: of.databaseUrl?.reveal(), folder: folder.path })
      const options = { leaseMs: 3_600_000, takeOver: false, assign: async () => undefined, log: silentLog }
      const lease = await claimMachine(database, readMachineIdentity(of), options)
      return { id: lease.id, end: () => lease.release().then(() => database.close()) }
    }
    // The backup is of a running instance.
    const old = await claim(config)
    const { file, keyFile } = await saved()
    const target = configOf('new', urls.fresh)
    await restoreInstance(target, file, keyFile)
    expect(existsSync(join(target.dataDir, machineFileName))).toBe(false)
    const restored = await claim(target)
    expect(restored.id).not.toBe(old.id)
    await Promise.all([old.end(), restored.end()])
  })

  test.each([
    ['a database that is not empty', () => urls.old, 'not empty'],
    ['no database', () => null, 'Set BERTH_DATABASE_URL'],
  ])('is not restored into %s, and leaves nothing there', async (_, urlOf, message) => {
    const { file, keyFile } = await saved()
    const restored = restoreInstance(configOf('other', urlOf()), file, keyFile)
    await expect(restored).rejects.toThrow(InstanceBackupRefused)
    await expect(restored).rejects.toThrow(message)
    expect(readdirSync(join(folder.path, 'other'))).toEqual([])
    expect(await organizationsAt(urls.old)).toHaveLength(1)
  })

  const organizationsAt = async (url: string) => {
    const { db, close } = await openDatabase({ url, folder: folder.path })
    try {
      return await db.selectFrom('organizations').selectAll().execute()
    } finally {
      await close()
    }
  }
})

const kept = { id: 'org_kept', name: 'Kept ’n’ \\safe', slug: 'kept', memberRepositories: null, quotas: null, createdAt: 1 }
const databaseUrl = (name: string) => Object.assign(new URL(partOf('postgres')), { pathname: `/${name}` }).href
const nameIn = (url: string) => new URL(url).pathname.slice(1)

describe('a failed restore', () => {
  /** Restores a backup on SQLite with a `tar` that fails after its last line was run. */
  async function failedRestore(folder: string, script: string) {
    const programs = join(folder, 'programs')
    const [old, fresh] = ['old', 'new'].map((name) => join(folder, name)) as [string, string]
    for (const path of [programs, old, fresh]) mkdirSync(path)
    await (await openDatabase({ url: undefined, folder: old })).close()
    const configOf = (dataDir: string, path: string) =>
      readConfig({ PATH: path, HOME: folder, BERTH_DATA_DIR: dataDir, BERTH_DOCKER_SOCKET: '/nowhere' })
    const searchPath = process.env.PATH ?? ''
    const { file, keyFile } = await backupInstance(configOf(old, searchPath), join(folder, 'instance.tar.zst.age'))
    writeFileSync(join(programs, 'tar'), `#!/bin/sh\ncat > /dev/null\n${script}\necho 'the archive is damaged' >&2\nexit 2\n`)
    chmodSync(join(programs, 'tar'), 0o755)
    const restored = restoreInstance(configOf(fresh, `${programs}:${searchPath}`), file, keyFile)
    return {
      fresh,
      error: await restored.then(
        () => undefined,
        ({ message }: Error) => message,
      ),
    }
  }

  test('keeps the data folder, which may be a mount point, and deletes its content', async () => {
    await using folder = await tempFolder('instance-failed')
    const script = `mkdir -p '${folder.path}/new/projects/a' && touch '${folder.path}/new/.hidden'`
    const { fresh, error } = await failedRestore(folder.path, script)
    expect(error).toContain('the archive is damaged')
    expect(readdirSync(fresh)).toEqual([])
  })

  test('reports its own error first if the data folder cannot be emptied', async () => {
    await using folder = await tempFolder('instance-failed')
    const { fresh, error } = await failedRestore(folder.path, `rm -r '${folder.path}/new'`)
    expect(error).toMatch(/the archive is damaged.*ENOENT/s)
    expect(error).toContain(`${fresh} could not be emptied`)
  })
})

test.each([
  [
    'postgres://me:p%40ss@[::1]:5433/my%20db',
    { PGHOST: '::1', PGPORT: '5433', PGUSER: 'me', PGPASSWORD: 'p@ss', PGDATABASE: 'my db' },
  ],
  ['postgres:///db?host=/run/pg&sslmode=no-verify', { PGHOST: '/run/pg', PGDATABASE: 'db', PGSSLMODE: 'require' }],
])('PostgreSQL programs get %s in environment variables, not in arguments', (url, variables) => {
  expect(postgresEnvironment(url)).toEqual(variables)
})
