import { execFileSync } from 'node:child_process'
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pack } from 'tar-stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { encodeHeader, tarEnd } from '../../../tar/tar-header.ts'
import { packVolume, replaceVolumeContent } from './volume-archive.ts'

const neverAborted = new AbortController().signal
const reading = { environment: process.env, abort: neverAborted }
let path: string
let paths: { folder: string; staging: string; trash: string }
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'berth-volume-'))
  paths = { folder: join(path, 'volume'), staging: join(path, 'staging'), trash: join(path, 'trash') }
  mkdirSync(paths.folder)
  writeFileSync(join(paths.folder, 'file'), 'old')
  mkdirSync(join(path, 'canary'))
  writeFileSync(join(path, 'canary', 'secret'), 'SECRET')
})
afterEach(() => rm(path, { recursive: true, force: true }))

const entries = (...list: (Parameters<ReturnType<typeof pack>['entry']>[0] & { text?: string })[]) => {
  const archive = pack()
  for (const { text, ...header } of list) archive.entry(header, text ?? '')
  archive.finalize()
  return archive as AsyncIterable<Uint8Array>
}

test('too deep folders are refused before they use up file descriptors', async () => {
  mkdirSync(join(paths.folder, ...Array.from({ length: 401 }, () => 'a')), { recursive: true })
  const read = async () => {
    for await (const _ of packVolume(paths.folder, reading)) void _
  }
  await expect(read()).rejects.toMatchObject({ name: 'VolumeUnreadable' })
})

test('an archive that writes through its own symlink is refused, and the old volume is kept', async () => {
  const tar = entries({ name: 'way', type: 'symlink', linkname: join(path, 'canary') }, { name: 'way/planted', text: 'mine' })
  await expect(replaceVolumeContent(paths, tar, neverAborted)).rejects.toThrow()
  expect(await readdir(join(path, 'canary'))).toEqual(['secret'])
  expect(await readFile(join(paths.folder, 'file'), 'utf8')).toBe('old')
})

test.each(['../planted', 'a/../../planted', '..'])('the name %s is refused', async (name) => {
  await expect(replaceVolumeContent(paths, entries({ name, text: 'mine' }), neverAborted)).rejects.toThrow('points outside')
})

test('all entries belong to the owner of the volume, without special rights', async () => {
  await replaceVolumeContent(
    paths,
    entries({ name: 'deep/program', mode: 0o6755, uid: 4242, gid: 4242, text: 'x' }),
    neverAborted,
  )
  const [volume, program] = [statSync(paths.folder), statSync(join(paths.folder, 'deep', 'program'))]
  expect([program.uid, program.gid, program.mode & 0o7777]).toEqual([volume.uid, volume.gid, 0o755])
})

test('a folder that becomes a symlink during the read is not followed', async () => {
  for (const name of ['a', 'b', 'c']) {
    mkdirSync(join(paths.folder, name))
    writeFileSync(join(paths.folder, name, 'large'), Buffer.alloc(300_000))
  }
  const chunks: Buffer[] = []
  for await (const chunk of packVolume(paths.folder, reading)) {
    // The reader is inside `a` when the first bytes arrive: a folder that it has not reached yet is swapped.
    if (chunks.length === 0)
      for (const name of ['b', 'c']) {
        renameSync(join(paths.folder, name), join(path, name))
        symlinkSync(join(path, 'canary'), join(paths.folder, name))
      }
    chunks.push(Buffer.from(chunk))
  }
  expect(Buffer.concat(chunks).includes('SECRET')).toBe(false)
})

test('names that are not UTF-8 are restored byte for byte, of files, folders and symlink targets', async () => {
  const odd = Buffer.from([0x66, 0xff, 0xfe, 0x80])
  const at = (...names: Buffer[]) => Buffer.concat(names.flatMap((name, n) => (n === 0 ? [name] : [Buffer.from('/'), name])))
  const folder = Buffer.from(paths.folder)
  mkdirSync(at(folder, odd))
  writeFileSync(at(folder, odd, odd), 'inside')
  writeFileSync(at(folder, Buffer.from([0xe4])), 'latin1')
  writeFileSync(join(paths.folder, 'ä'), 'text')
  writeFileSync(at(folder, Buffer.concat([Buffer.alloc(180, 0x61), odd])), 'long')
  symlinkSync(at(odd, odd), at(folder, Buffer.from('way')))
  const before = await readdir(folder, { encoding: 'buffer' })

  const tar = Buffer.concat(await Array.fromAsync(packVolume(paths.folder, reading)))
  await rm(paths.folder, { recursive: true })
  mkdirSync(paths.folder)
  await replaceVolumeContent(paths, once(tar), neverAborted)
  const names = (list: Buffer[]) => list.map((name) => name.toString('hex')).sort()
  expect(names(await readdir(folder, { encoding: 'buffer' }))).toEqual(names(before))
  expect(await readFile(at(folder, odd, odd), 'utf8')).toBe('inside')
  expect(await readFile(at(folder, Buffer.from([0xe4])), 'utf8')).toBe('latin1')
  expect(await readFile(at(folder, Buffer.concat([Buffer.alloc(180, 0x61), odd])), 'utf8')).toBe('long')
  expect(await readlink(join(paths.folder, 'way'), { encoding: 'buffer' })).toEqual(at(odd, odd))
  expect(await readFile(at(folder, Buffer.from('way')), 'utf8')).toBe('inside')
})

test('GNU tar reads the archive, and its archives are read, with names that are not UTF-8', async () => {
  const odd = Buffer.concat([Buffer.from(`${paths.folder}/`), Buffer.alloc(120, 0x62), Buffer.from([0xff])])
  writeFileSync(odd, 'odd')
  writeFileSync(join(path, 'ours.tar'), Buffer.concat(await Array.fromAsync(packVolume(paths.folder, reading))))
  mkdirSync(join(path, 'by-tar'))
  execFileSync('tar', ['-xf', join(path, 'ours.tar'), '-C', join(path, 'by-tar')])
  const here = await readdir(Buffer.from(paths.folder), { encoding: 'buffer' })
  expect(await readdir(Buffer.from(join(path, 'by-tar')), { encoding: 'buffer' })).toEqual(expect.arrayContaining(here))
  for (const format of ['gnu', 'pax']) {
    execFileSync('tar', [`--format=${format}`, '-cf', join(path, 'theirs.tar'), '-C', join(path, 'by-tar'), '.'])
    await replaceVolumeContent(paths, once(await readFile(join(path, 'theirs.tar'))), neverAborted)
    expect(await readFile(odd, 'utf8'), format).toBe('odd')
  }
})

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

test('a sparse file uses only its data in the archive, and is restored sparse, here and by tar', async () => {
  const terabyte = 1024 ** 4
  const middle = 300 * 1024 ** 3 + 1
  const file = join(paths.folder, 'disk.img')
  const handle = openSync(file, 'w', 0o640)
  for (const at of [0, middle]) writeSync(handle, `bytes at ${at}`, at)
  ftruncateSync(handle, terabyte)
  closeSync(handle)
  writeFileSync(join(paths.folder, 'z'), 'after it')
  const tar = Buffer.concat(await Array.fromAsync(packVolume(paths.folder, reading)))
  expect(tar.length).toBeLessThan(1024 ** 2)
  const isWhole = (folder: string) => {
    const { size, blocks } = statSync(join(folder, 'disk.img'))
    const found = openSync(join(folder, 'disk.img'), 'r')
    const read = [0, middle, terabyte - 4].map((at) => {
      const bytes = Buffer.alloc(16)
      return bytes.toString('latin1', 0, readSync(found, bytes, 0, 16, at)).replace(/\0+$/, '')
    })
    closeSync(found)
    expect([size, blocks < 1024, read]).toEqual([terabyte, true, ['bytes at 0', `bytes at ${middle}`.slice(0, 16), '']])
  }
  const byHand = join(path, 'by-hand')
  mkdirSync(byHand)
  execFileSync('tar', ['--extract', `--directory=${byHand}`], { input: tar })
  isWhole(byHand)
  await replaceVolumeContent(paths, Readable.from([tar]), neverAborted)
  isWhole(paths.folder)
  expect(await readFile(join(paths.folder, 'z'), 'utf8')).toBe('after it')
})

test.each([
  ['a list that does not end', '9'.repeat(600)],
  ['more pieces than there are', '2\n0\n5\n'],
  ['a piece beyond the end', '1\n900\n200\n'],
  ['no numbers', 'x\n'],
  ['more pieces than any file has', '99999999\n'],
])('a tampered sparse file is refused: %s', async (_, map) => {
  const content = Buffer.alloc(1024)
  content.write(map, 'latin1')
  const header = { name: 'f', type: 'file', size: 1024, mode: 0o600, uid: 0, gid: 0, mtime: new Date(0), linkname: '' } as const
  const tar = Readable.from([encodeHeader({ ...header, sparse: { realSize: 1000 } }), content, tarEnd])
  await expect(replaceVolumeContent(paths, tar, neverAborted)).rejects.toThrow('damaged map')
  expect(await readFile(join(paths.folder, 'file'), 'utf8')).toBe('old')
})
