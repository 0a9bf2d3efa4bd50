import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { need } from '../../../../../tests/kit/machine.ts'
import { type TempFolder, tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import { inMemoryContent } from '../archive-store/in-memory.ts'
import { localStore } from '../archive-store/local-store.ts'
import { chunksOf, neverAborted } from '../archive-store/suite.ts'
import { packVolume } from '../runtime/process/files/volume-archive.ts'
import type { Archives } from './archive.ts'
import { createArchives } from './create-archives.ts'
import { findStoredParts } from './find-stored-parts.ts'
import { readOrCreateIdentity } from './instance-key.ts'
import { restoreFile } from './restore-file.ts'

const run = promisify(execFile)
const large = randomBytes(700_000)
let base: TempFolder
let archives: Archives
let keyFile: string
let count = 0
const location = () => join(base.path, `to-${++count}`)
const restore = (file: string, to = location()) => restoreFile({ file, keyFile, to, abort: neverAborted })

beforeAll(async () => {
  base = await tempFolder('restore')
  keyFile = join(base.path, 'backup.key')
  const { identity } = await readOrCreateIdentity(keyFile)
  archives = await createArchives({ identities: [identity], partBytes: 128 * 1024 })
  await mkdir(join(base.path, 'volume/deep'), { recursive: true })
  await writeFile(join(base.path, 'volume/hello'), 'hello')
  await writeFile(join(base.path, 'volume/deep/large'), large)
})
afterAll(async () => {
  await archives.close()
  await base.remove()
})

async function expectVolume(folder: string) {
  expect((await readdir(folder)).sort()).toEqual(['deep', 'hello'])
  expect(await readFile(join(folder, 'hello'), 'utf8')).toBe('hello')
  expect((await readFile(join(folder, 'deep/large'))).equals(large)).toBe(true)
}

test('an archive created with tar, a compressor and age is restored', async () => {
  const age = need('age')
  for (const packing of [['--zstd'], ['-z'], []]) {
    const tar = join(base.path, `hand-${++count}.tar`)
    await run('tar', ['-C', join(base.path, 'volume'), ...packing, '-cf', tar, '.'])
    await run(age, ['-r', archives.recipient, '-o', `${tar}.age`, tar])
    const to = location()
    const seen: number[] = []
    const done = await restoreFile({
      file: `${tar}.age`,
      keyFile,
      to,
      onProgress: (bytes) => seen.push(bytes),
      abort: neverAborted,
    })
    expect(done).toMatchObject({ files: 2, bytes: 5 + large.length })
    expect(seen.at(-1)).toBeGreaterThan(large.length)
    await expectVolume(to)
  }
})

test('a run is restored from its manifest, with parts of earlier runs and dumps; for a single part the error says what to do', async () => {
  const destination = join(base.path, 'destination')
  const store = localStore({ kind: 'local', root: destination, path: destination })
  const volume = () => packVolume(join(base.path, 'volume'), { environment: process.env, abort: neverAborted })
  const first = await archives.write(volume(), { store, base: 'prj/one/data', extension: 'tar', abort: neverAborted })
  await expectVolume(await restore(join(destination, 'prj/one/data.0000.tar.zst.age')).then(() => join(base.path, `to-${count}`)))

  const earlier = await findStoredParts(store, 'prj/', first.parts.slice(1, -1), neverAborted)
  const index = await archives.write(volume(), { store, base: 'prj/two/data', extension: 'tar', earlier, abort: neverAborted })
  const dump = await archives.write(chunksOf(Buffer.from('select 1')), {
    store,
    base: 'prj/two/db',
    extension: 'sql',
    abort: neverAborted,
  })
  const artifacts = [
    { name: 'volume data', index },
    { name: '../db', index: dump },
  ]
  const manifest = await archives.seal(Buffer.from(JSON.stringify({ artifacts })))
  await store.put('prj/two/manifest.json.zst.age', inMemoryContent(manifest), neverAborted)

  await expect(restore(join(destination, 'prj/two/data.0000.tar.zst.age'))).rejects.toThrow('Use the manifest.json.zst.age')
  // As a run has it that was begun again after a crash.
  await store.put('prj/two/manifest-1f2e3d4c.json.zst.age', inMemoryContent(manifest), neverAborted)
  expect((await restore(join(destination, 'prj/two/manifest-1f2e3d4c.json.zst.age'))).createdNames).toContain('volume-data')
  const to = location()
  const done = await restore(join(destination, 'prj/two/manifest.json.zst.age'), to)
  expect(done.createdNames).toEqual(['volume-data', '-db.sql', 'manifest.json'])
  await expectVolume(join(to, 'volume-data'))
  expect(await readFile(join(to, '-db.sql'), 'utf8')).toBe('select 1')
})

test('a wrong key, a truncated file, a changed file and a folder in use have different errors', async () => {
  const file = join(base.path, 'sealed.tar.zst.age')
  const tar = await run('tar', ['-C', join(base.path, 'volume'), '-c', '.'], { encoding: 'buffer', maxBuffer: 1e8 })
  const sealed = await archives.seal(tar.stdout)
  await writeFile(file, sealed)
  await readOrCreateIdentity(join(base.path, 'other.key'))
  const wrong = restoreFile({ file, keyFile: join(base.path, 'other.key'), to: location(), abort: neverAborted })
  await expect(wrong).rejects.toThrow('encrypted with another key')
  await writeFile(file, sealed.subarray(0, -100))
  await expect(restore(file)).rejects.toThrow('damaged or incomplete')
  await writeFile(file, Buffer.from(sealed).fill(7, 200_000, 200_001))
  await expect(restore(file)).rejects.toThrow('damaged or incomplete')
  await writeFile(file, 'something else')
  await expect(restore(file)).rejects.toThrow('not an age file')
  await expect(restore(file, join(base.path, 'volume'))).rejects.toThrow('not empty')
})
