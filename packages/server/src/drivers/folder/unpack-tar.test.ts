import { lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pack } from 'tar-stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TempFolder, tempFolder } from '../../../../../tests/kit/temp-folder.ts'
import { type TarEntry, tarEnd, tarEntry } from '../tarball/hostile-corpus.ts'
import { DirectoryHandle } from './directory-handle.ts'
import { TarRefused, unpackTar } from './unpack-tar.ts'

let base: TempFolder
let into: string
beforeEach(async () => {
  base = await tempFolder('unpack')
  into = join(base.path, 'into')
  await mkdir(into)
  await mkdir(join(base.path, 'canary'))
  await writeFile(join(base.path, 'canary', 'secret'), 'SECRET')
})
afterEach(() => base.remove())

async function* bytes(...entries: TarEntry[]) {
  for (const entry of entries) yield tarEntry(entry)
  yield tarEnd
}

async function unpack(tar: AsyncIterable<Uint8Array>, bounds: { maxBytes?: number; maxEntries?: number } = {}) {
  await using root = await DirectoryHandle.open(into)
  return await unpackTar(tar, root!, { owner: null, abort: new AbortController().signal, ...bounds })
}

const untouched = async () => {
  expect(await readdir(join(base.path, 'canary'))).toEqual(['secret'])
  expect(await readFile(join(base.path, 'canary', 'secret'), 'utf8')).toBe('SECRET')
  expect((await readdir(base.path)).sort()).toEqual(['canary', 'into'])
}

test('files, folders, symlinks and hard links are unpacked unchanged', async () => {
  const done = await unpack(
    bytes(
      { name: './' },
      { name: 'a/', type: '5', mode: 0o750 },
      { name: 'a/program', content: 'x', mode: 0o6755 },
      { name: 'way', type: '2', linkname: '/etc/hostname' },
      { name: 'b/same', type: '1', linkname: 'a/program' },
    ),
  )
  expect(done).toEqual({ files: 1, bytes: 1, leftOut: 0 })
  expect((await lstat(join(into, 'a'))).mode & 0o7777).toBe(0o750)
  expect((await lstat(join(into, 'a/program'))).mode & 0o7777).toBe(0o755)
  expect(await readlink(join(into, 'way'))).toBe('/etc/hostname')
  expect((await lstat(join(into, 'b/same'))).ino).toBe((await lstat(join(into, 'a/program'))).ino)
})

test.each(['../planted', 'a/../../planted', '..', 'a/..'])('the name %s is refused', async (name) => {
  await expect(unpack(bytes({ name, content: 'mine' }))).rejects.toBeInstanceOf(TarRefused)
  await untouched()
})

test('an absolute name is unpacked below the folder', async () => {
  await unpack(bytes({ name: '/etc/planted', content: 'mine' }))
  expect(await readFile(join(into, 'etc/planted'), 'utf8')).toBe('mine')
})

test('no file is written or linked through a symlink of the archive', async () => {
  const way = { name: 'way', type: '2', linkname: join(base.path, 'canary') }
  await expect(unpack(bytes(way, { name: 'way/planted', content: 'mine' }))).rejects.toThrow()
  await expect(unpack(bytes({ name: 'stolen', type: '1', linkname: 'way/secret' }))).rejects.toThrow('not a file in the archive')
  await expect(unpack(bytes({ name: 'stolen', type: '1', linkname: '../canary/secret' }))).rejects.toThrow('points outside')
  await expect(unpack(bytes({ name: 'stolen', type: '1', linkname: 'way' }))).rejects.toThrow('not a file in the archive')
  await expect(unpack(bytes({ name: 'way', content: 'over the link' }))).rejects.toThrow()
  await untouched()
})

test('devices, pipes and unknown types are skipped and counted', async () => {
  const done = await unpack(
    bytes({ name: 'disk', type: '4' }, { name: 'null', type: '3' }, { name: 'pipe', type: '6' }, { name: 'kept', content: 'x' }),
  )
  expect(done).toEqual({ files: 1, bytes: 1, leftOut: 3 })
  expect(await readdir(into)).toEqual(['kept'])
})

test('an archive over the size limit, with too many entries, or truncated is refused', async () => {
  const large = async function* () {
    const tar = pack()
    tar.entry({ name: 'bomb' }, Buffer.alloc(3_000_000))
    tar.finalize()
    yield* tar as unknown as AsyncIterable<Uint8Array>
  }
  await expect(unpack(large(), { maxBytes: 1_000_000 })).rejects.toThrow('exceeds the disk limit')
  expect((await lstat(join(into, 'bomb'))).size).toBeLessThanOrEqual(1_000_000)
  const many = Array.from({ length: 20 }, (_, at) => ({ name: `file-${at}` }))
  await expect(unpack(bytes(...many), { maxEntries: 10 })).rejects.toThrow('more than 10 entries')
  const cut = async function* () {
    yield tarEntry({ name: 'half', content: 'x'.repeat(2000) }).subarray(0, 1000)
  }
  await expect(unpack(cut())).rejects.toThrow()
  await expect(unpack(bytes({ name: 'folder', type: '5', size: 100 }))).rejects.toThrow('non-zero size')
})
