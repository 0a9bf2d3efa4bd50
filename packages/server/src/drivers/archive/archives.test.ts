import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pack } from 'tar-stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { need } from '../../../../../tests/kit/machine.ts'
import { type TempFolder, tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import type { ArchiveStore } from '../archive-store/archive-store.ts'
import { localStore } from '../archive-store/local-store.ts'
import { chunksOf, namesIn, neverAborted, readAll } from '../archive-store/suite.ts'
import type { ArchiveIndex, Archives } from './archive.ts'
import { createArchives } from './create-archives.ts'
import { findStoredParts } from './find-stored-parts.ts'
import { readOrCreateIdentity } from './instance-key.ts'

const run = promisify(execFile)
const KiB = 1024
let folder: TempFolder
let store: ArchiveStore
let archives: Archives

beforeAll(async () => {
  folder = await tempFolder('archives')
  const { identity } = await readOrCreateIdentity(join(folder.path, 'backup.key'))
  archives = await createArchives({ identities: [identity], partBytes: 128 * KiB })
})
beforeEach(async () => {
  const root = join(folder.path, 'store')
  await rm(root, { recursive: true, force: true })
  store = localStore({ kind: 'local', root, path: root })
})
afterAll(async () => {
  await archives.close()
  await folder.remove()
})

const write = (content: AsyncIterable<Uint8Array>, more: { base?: string; earlier?: Map<string, never> } = {}) =>
  archives.write(content, { store, base: 'runs/one/data', extension: 'tar', abort: neverAborted, ...more })
const read = (index: ArchiveIndex) => readAll(archives.read(index, { store, abort: neverAborted }))

async function tarWith(files: Record<string, Buffer>): Promise<Buffer> {
  const tar = pack()
  for (const [name, content] of Object.entries(files)) tar.entry({ name, mtime: new Date(0) }, content)
  tar.finalize()
  return readAll(tar as unknown as AsyncIterable<Uint8Array>)
}

describe('an archive', () => {
  test.each([0, 1, 64 * KiB, 64 * KiB + 1, 128 * KiB, 900 * KiB + 5])('of %i bytes comes back byte for byte', async (size) => {
    const content = randomBytes(size)
    const index = await write(chunksOf(content, 77_777))
    expect(index.plainBytes).toBe(size)
    await archives.verify(index, { store, abort: neverAborted })
    expect((await read(index)).equals(content)).toBe(true)
    const names = await namesIn(store, '')
    expect(names).toEqual(index.parts.map(({ name }) => name))
    expect(index.sizeBytes).toBe(index.parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0))
  })

  test('can be opened by age, zstd and tar', async () => {
    const age = need('age')
    const files = { 'deep/large.bin': randomBytes(600 * KiB), 'hello.txt': Buffer.from('hello') }
    const index = await write(chunksOf(await tarWith(files)))
    expect(index.parts.length).toBeGreaterThan(2)
    const key = join(folder.path, 'backup.key')
    const pieces: Buffer[] = []
    for (const { name } of index.parts) {
      const opened = await run(age, ['-d', '-i', key, join(folder.path, 'store', name)], { encoding: 'buffer', maxBuffer: 1e9 })
      pieces.push(opened.stdout)
    }
    const joined = join(folder.path, 'joined.tar.zst')
    await writeFile(joined, Buffer.concat(pieces))
    const out = join(folder.path, 'out')
    await mkdir(out)
    await run('tar', ['-x', '--zstd', '-f', joined, '-C', out])
    for (const [name, content] of Object.entries(files)) expect((await readFile(join(out, name))).equals(content)).toBe(true)
  })

  test('with one part has the hash of its file', async () => {
    const index = await write(chunksOf(Buffer.from('small')))
    const file = await readFile(join(folder.path, 'store', index.parts[0]!.name))
    expect(index.sha256).toBe(createHash('sha256').update(file).digest('hex'))
  })

  test('whose content failed leaves no file and reports the error', async () => {
    const failing = async function* () {
      yield* chunksOf(randomBytes(900 * KiB))
      throw new Error('the dump broke')
    }
    await expect(write(failing())).rejects.toThrow('the dump broke')
    expect(await namesIn(store, '')).toEqual([])
  })

  test('that is cancelled leaves no file', async () => {
    const stop = new AbortController()
    const content = async function* () {
      yield* chunksOf(randomBytes(900 * KiB))
      stop.abort(new Error('cancelled'))
      yield randomBytes(10)
    }
    const writing = { store, base: 'x', extension: 'tar', abort: stop.signal }
    await expect(archives.write(content(), writing)).rejects.toThrow('cancelled')
    expect(await namesIn(store, '')).toEqual([])
  })
})

describe('unchanged content', () => {
  const files = () => Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`file-${at}`, randomBytes(14_000)]))

  test('is not stored a second time, and both archives are complete', async () => {
    const tar = await tarWith(files())
    const first = await write(chunksOf(tar))
    const earlier = await findStoredParts(store, 'runs/', first.parts, neverAborted)
    const options = { store, base: 'runs/two/data', extension: 'tar', earlier, abort: neverAborted }
    const second = await archives.write(chunksOf(tar), options)
    expect(second.reusedBytes).toBe(second.sizeBytes)
    expect(await namesIn(store, 'runs/two/')).toEqual([])
    await archives.verify(second, { store, abort: neverAborted, everything: true })
    expect((await read(second)).equals(tar)).toBe(true)
  })

  test('around an added or changed file is mostly not stored again', async () => {
    const some = files()
    const first = await write(chunksOf(await tarWith(some)))
    const earlier = await findStoredParts(store, '', first.parts, neverAborted)
    const changed = { 'a-new-one': randomBytes(5_000), ...some, 'file-30': randomBytes(14_000) }
    const options = { store, base: 'runs/two/data', extension: 'tar', earlier, abort: neverAborted }
    const tar = await tarWith(changed)
    const second = await archives.write(chunksOf(tar), options)
    expect(second.reusedBytes).toBeGreaterThan(second.sizeBytes * 0.4)
    expect((await read(second)).equals(tar)).toBe(true)
  })

  test('of a large file that grew at its end is stored only for the new end', async () => {
    const log = randomBytes(700 * KiB)
    const first = await write(chunksOf(await tarWith({ small: Buffer.from('x'), log })))
    const earlier = await findStoredParts(store, '', first.parts, neverAborted)
    const options = { store, base: 'runs/two/data', extension: 'tar', earlier, abort: neverAborted }
    const grown = Buffer.concat([log, randomBytes(1000)])
    const tar = await tarWith({ small: Buffer.from('xy'), log: grown })
    const second = await archives.write(chunksOf(tar), options)
    expect(second.reusedBytes).toBeGreaterThan(second.sizeBytes * 0.7)
    expect((await read(second)).equals(tar)).toBe(true)
  })

  test('is reused only if the destination has the complete part', async () => {
    const first = await write(chunksOf(randomBytes(600 * KiB)))
    await store.remove(first.parts[0]!.name, neverAborted)
    await store.put(first.parts[1]!.name, chunksOf(Buffer.from('short')), neverAborted)
    const there = await findStoredParts(store, 'runs/', first.parts, neverAborted)
    expect([...there.values()]).toEqual(first.parts.slice(2))
  })
})

describe('a part that differs from what was stored', () => {
  const change = async (name: string, how: (bytes: Buffer) => Buffer) => {
    const file = join(folder.path, 'store', name)
    await chmod(file, 0o600)
    await writeFile(file, how(await readFile(file)))
  }
  const flip = (bytes: Buffer) => {
    bytes[bytes.length >> 1]! ^= 1
    return bytes
  }

  test.each([
    ['a flipped bit', flip],
    ['a cut-off end', (bytes: Buffer) => bytes.subarray(0, -1)],
    ['more at its end', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('x')])],
    ['nothing in it', () => Buffer.alloc(0)],
  ])('is detected by verify and by read: %s', async (_title, how) => {
    const index = await write(chunksOf(randomBytes(400 * KiB)))
    await change(index.parts[1]!.name, how)
    await expect(archives.verify(index, { store, abort: neverAborted })).rejects.toMatchObject({ reason: 'corrupt' })
    await expect(read(index)).rejects.toMatchObject({ reason: 'corrupt' })
  })

  test('is detected if it is missing or another part of the same archive', async () => {
    const index = await write(chunksOf(randomBytes(600 * KiB)))
    const [one, two, ...rest] = index.parts
    const swapped = { ...index, parts: [{ ...one!, name: two!.name }, { ...two!, name: one!.name }, ...rest] }
    await expect(read(swapped)).rejects.toMatchObject({ reason: 'corrupt' })
    const lying = { ...index, parts: [{ ...two!, content: one!.content }, ...rest] }
    await expect(read(lying)).rejects.toThrow('other content')
    await rm(join(folder.path, 'store', one!.name))
    await expect(read(index)).rejects.toMatchObject({ reason: 'missing' })
    await expect(archives.verify(index, { store, abort: neverAborted })).rejects.toMatchObject({ reason: 'missing' })
  })

  test('never expands beyond the size in the index or the maximum of a part', async () => {
    const index = await write(chunksOf(Buffer.alloc(100 * KiB)))
    const smaller = { ...index, parts: index.parts.map((part) => ({ ...part, plainBytes: 1000 })) }
    await expect(read(smaller)).rejects.toThrow('is larger than allowed')
    const huge = { ...index, parts: index.parts.map((part) => ({ ...part, plainBytes: 1e12 })) }
    await expect(read(huge)).rejects.toThrow('larger than any part can be')
  })
})

describe('the key of the backups', () => {
  test('is created once, readable by its owner only, and kept', async () => {
    const file = join(folder.path, 'new', 'backup.key')
    const made = await Promise.all([readOrCreateIdentity(file), readOrCreateIdentity(file)])
    expect(made.filter(({ isNew }) => isNew).length).toBe(1)
    expect(made[0].identity.reveal()).toBe(made[1].identity.reveal())
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    await writeFile(file, 'something else')
    await expect(readOrCreateIdentity(file)).rejects.toThrow('AGE-SECRET-KEY-1')
  })

  test('of another instance decrypts nothing', async () => {
    const { identity } = await readOrCreateIdentity(join(folder.path, 'other.key'))
    const other = await createArchives({ identities: [identity] })
    const sealed = await archives.seal(Buffer.from('manifest'))
    expect(Buffer.from(await archives.unseal(sealed, 100)).toString()).toBe('manifest')
    await expect(archives.unseal(sealed, 3)).rejects.toThrow('is larger than allowed')
    await expect(other.unseal(sealed, 100)).rejects.toMatchObject({ reason: 'corrupt' })
    await other.close()
  })
})
