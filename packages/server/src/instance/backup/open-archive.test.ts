import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TempFolder, tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import { openDatabase } from '../../platform/database.ts'
import { type Config, readConfig } from '../config/config.ts'
import { createInstanceArchive, engineFor } from './open-archive.ts'

let folder: TempFolder
let config: Config
beforeEach(async () => {
  folder = await tempFolder('instance-archive')
  const dataDir = join(folder.path, 'data')
  mkdirSync(join(dataDir, 'logs'), { recursive: true })
  config = readConfig({
    PATH: process.env.PATH ?? '',
    HOME: folder.path,
    BERTH_DATA_DIR: dataDir,
    BERTH_DOCKER_SOCKET: '/nowhere',
  })
  await (await openDatabase({ url: undefined, folder: dataDir })).close()
  writeFileSync(join(dataDir, 'secret-keys.json'), '{}')
  writeFileSync(join(dataDir, 'logs', 'line.txt'), randomBytes(200_000))
})
afterEach(() => folder.remove())

const abort = new AbortController().signal
const read = async (source: AsyncIterable<Uint8Array>) => Buffer.concat(await Array.fromAsync(source))
const from = async function* (bytes: Uint8Array) {
  yield bytes
}
/** The folder is emptied at the next start. */
const snapshots = () => readdirSync(join(config.dataDir, 'work'))

test('the stored bytes are compared to their end; changed, shortened and foreign ones are refused', async () => {
  const archive = await createInstanceArchive(config).open('everything', abort)
  const stored = await read(archive.read())
  await archive.compare(from(stored))
  const changed = Buffer.from(stored)
  changed[changed.length - 20]! ^= 1
  for (const bytes of [changed, stored.subarray(0, -1), stored.subarray(0, 100), Buffer.alloc(0), Buffer.from('something else')])
    await expect(archive.compare(from(bytes))).rejects.toThrow('cannot be decrypted')
  const other = await createInstanceArchive(config).open('database', abort)
  const foreign = await read(other.read())
  await expect(archive.compare(from(foreign))).rejects.toThrow('differs from the stored one')
  await Promise.all([archive.close(), other.close()])
})

test('the database alone is smaller; the snapshot is removed', async () => {
  const sizes: Record<string, number> = {}
  for (const content of ['everything', 'database'] as const) {
    const archive = await createInstanceArchive(config).open(content, abort)
    sizes[content] = (await read(archive.read())).length
    expect(snapshots()).toHaveLength(1)
    await archive.close()
  }
  expect(sizes.database).toBeLessThan(sizes.everything!)
  expect(snapshots()).toEqual([])
})

test('a database that cannot be copied fails, and leaves no snapshot', async () => {
  writeFileSync(join(config.dataDir, 'berth.db'), 'this is no database')
  await expect(createInstanceArchive(config).open('database', abort)).rejects.toThrow()
  expect(snapshots()).toEqual([])
})

test.each([
  ['backup', 'cannot be backed up', 'or back up the database only'],
  ['restore', 'cannot be restored', 'Start the engine'],
] as const)('the error of an engine that cannot be reached for a %s says so, and what to do', async (purpose, reason, advice) => {
  const opened = engineFor(config, purpose)
  await expect(opened).rejects.toThrow(reason)
  await expect(opened).rejects.toThrow(advice)
  await expect(opened).rejects.toThrow('--without-docker')
})
