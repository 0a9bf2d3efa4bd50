import { createWriteStream } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bytesRead } from '../../../../../tests/kit/count-work.ts'
import { createRunCommand } from '../shell/run-command.ts'
import { hostileCorpus, tarball, tarEnd, tarEntry } from './hostile-corpus.ts'
import { BadArchive, BadEntry } from './tarball-errors.ts'
import { inspectTarball, unpackTarball } from './unpack-tarball.ts'

let base: string
let archive: string
let target: string
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'berth-tarball-'))
  archive = join(base, 'upload.tar.gz')
  target = join(base, 'into')
})
afterEach(() => rm(base, { recursive: true, force: true }))

const run = createRunCommand(process.env)

describe('each hostile archive is refused with the entry name and leaves no files', () => {
  test.each(hostileCorpus().map((hostile) => [hostile.title, hostile] as const))('%s', async (_title, hostile) => {
    await writeFile(archive, hostile.bytes)
    const attempts = [() => inspectTarball(archive, hostile.limits), () => unpackTarball(archive, target, hostile.limits)]
    for (const attempt of attempts) {
      const error = await attempt().then(
        () => 'accepted',
        (reason) => reason,
      )
      expect(error).toBeInstanceOf(hostile.refusal === 'BadEntry' ? BadEntry : BadArchive)
      if (error instanceof BadEntry) expect(error.entry).toMatch(hostile.names)
      else expect(error.message).toMatch(hostile.names)
    }
    expect(await readdir(base)).toEqual(['upload.tar.gz'])
  })
})

test('an archive of tar is unpacked unchanged: files, folders, symlinks, executables', async () => {
  const source = join(base, 'source')
  await run(
    {
      program: 'sh',
      args: [
        '-c',
        `mkdir -p a/empty "b c" && echo one >a/one && printf '#!/bin/sh\n' >a/run && chmod 6755 a/run && ln -s ../a/one "b c/l" && ln a/one "b c/h" && ln -s missing d && chmod 000 a/one && echo "$0" >"b c/$0"`,
        'n'.repeat(180),
      ],
      cwd: await mkdir(source, { recursive: true }).then(() => source),
    },
    { timeoutMs: 60_000, maxOutputBytes: 1000 },
  )
  await run({ program: 'tar', args: ['-czf', archive, '-C', source, '.'] }, { timeoutMs: 60_000, maxOutputBytes: 1000 })

  expect(await inspectTarball(archive)).toMatchObject({ commonRoot: null })
  await unpackTarball(archive, target)
  expect((await readdir(target, { recursive: true })).sort()).toEqual(
    ['a', 'a/empty', 'a/one', 'a/run', 'b c', 'b c/h', 'b c/l', `b c/${'n'.repeat(180)}`, 'd'].sort(),
  )
  expect(await readFile(join(target, 'b c/h'), 'utf8')).toBe('one\n')
  expect(await readlink(join(target, 'b c/l'))).toBe('../a/one')
  expect((await lstat(join(target, 'd'))).isSymbolicLink()).toBe(true)
  expect((await stat(join(target, 'a/run'))).mode & 0o7777).toBe(0o755)
  expect((await stat(join(target, 'a/one'))).mode & 0o700).toBe(0o600)
  expect((await readdir(base)).sort()).toEqual(['into', 'source', 'upload.tar.gz'])
})

test('symlinks within the folder are kept, also nested, circular and dangling ones', async () => {
  const link = (name: string, linkname: string) => ({ name, type: '2', linkname })
  await writeFile(
    archive,
    tarball(link('a/b/top', '../..'), link('again', 'a/b/top/a/b/top/a'), link('x', 'y'), link('y', 'x'), link('z', 'no/where')),
  )
  await unpackTarball(archive, target)
  expect((await readdir(target)).sort()).toEqual(['a', 'again', 'x', 'y', 'z'])
})

test('the later of two entries with one name wins', async () => {
  await writeFile(
    archive,
    tarball({ name: 'a', content: 'first' }, { name: 'h', type: '1', linkname: 'a' }, { name: './a', content: '2', mode: 0o755 }),
  )
  await unpackTarball(archive, target)
  expect(await readFile(join(target, 'a'), 'utf8')).toBe('2')
  expect(await readFile(join(target, 'h'), 'utf8')).toBe('first')
})

describe('the common root', () => {
  const cases: [string, string | null, { name: string; type?: string; content?: string; linkname?: string }[]][] = [
    ['one folder holds everything', 'app', [{ name: './', type: '5' }, { name: './app/', type: '5' }, { name: './app/x' }]],
    ['no entry names the folder', 'app', [{ name: 'app/x' }, { name: 'app/y/z' }]],
    ['a file lies beside it', null, [{ name: 'app/x' }, { name: 'README' }]],
    ['two folders', null, [{ name: 'app/x' }, { name: 'lib/x' }]],
    ['a link leads out of it', null, [{ name: 'app/x' }, { name: 'app/up', type: '2', linkname: '..' }]],
    ['a link stays in it', 'app', [{ name: 'app/y/x' }, { name: 'app/y/up', type: '2', linkname: '..' }]],
    ['a single file', null, [{ name: 'index.html' }]],
    [
      'the attributes that macOS puts beside it do not count',
      'app',
      [{ name: './._app', content: '\0\x05\x16\x07…' }, { name: 'app/x' }],
    ],
  ]
  test.each(cases)('%s', async (_title, commonRoot, entries) => {
    await writeFile(archive, tarball(...entries))
    expect((await inspectTarball(archive)).commonRoot).toBe(commonRoot)
    expect((await unpackTarball(archive, target)).commonRoot).toBe(commonRoot)
  })
})

test('macOS attribute files are skipped, recognised by content and not by name', async () => {
  const entries = [
    { name: 'a/._one.js', content: '\0\x05\x16\x07\0\0' },
    { name: 'a/one.js', content: '1' },
    { name: 'a/._mine', content: 'm' },
    { name: '._e' },
  ]
  await writeFile(archive, tarball(...entries))
  expect(await unpackTarball(archive, target)).toMatchObject({ entries: 4, files: 3, contentBytes: 2 })
  expect((await readdir(target, { recursive: true })).sort()).toEqual(['._e', 'a', 'a/._mine', 'a/one.js'])
})

test('several gzip members are read as one archive', async () => {
  const members = [tarEntry({ name: 'a', content: 'x' }), tarEntry({ name: 'b' }), tarEnd].map((part) => gzipSync(part))
  await writeFile(archive, Buffer.concat(members))
  expect(await inspectTarball(archive)).toMatchObject({ entries: 2, commonRoot: null })
})

test('a decompression bomb is stopped early', async () => {
  const total = 3_000_000_000
  async function* bomb() {
    yield tarEntry({ name: 'bomb', size: total })
    const zeros = Buffer.alloc(1_000_000)
    for (let sent = 0; sent < 200_000_000; sent += zeros.length) yield zeros
  }
  await pipeline(bomb(), createGzip({ level: 1 }), createWriteStream(archive))
  const whole = await bytesRead(() =>
    expect(inspectTarball(archive, { maxDecompressedBytes: 4_000_000_000 })).rejects.toThrow('cut off'),
  )
  expect(whole).toBe((await stat(archive)).size)
  const stopped = await bytesRead(() =>
    expect(unpackTarball(archive, target, { maxDecompressedBytes: 3_500_000 })).rejects.toBeInstanceOf(BadEntry),
  )
  expect(stopped).toBeLessThan(whole / 2)
})

test('an abort ends the unpacking and leaves no files', async () => {
  await writeFile(
    archive,
    tarball(...Array.from({ length: 500 }, (_, index) => ({ name: `f${index}`, content: 'x'.repeat(5000) }))),
  )
  const stop = new AbortController()
  const unpacking = unpackTarball(archive, target, { abort: stop.signal })
  while (!(await readdir(`${target}.partial`).catch(() => [])).length) await new Promise(setImmediate)
  stop.abort(new Error('cancelled'))
  await expect(unpacking).rejects.toThrow('cancelled')
  expect(await readdir(base)).toEqual(['upload.tar.gz'])
})

test('no file descriptor stays open after any archive', async () => {
  const openFiles = async () =>
    (await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))).filter(
      (path) => path.startsWith(base),
    )
  for (const hostile of hostileCorpus()) {
    await writeFile(archive, hostile.bytes)
    await expect(unpackTarball(archive, target, hostile.limits)).rejects.toThrow()
  }
  expect(await openFiles()).toEqual([])
})

test('a missing file is ENOENT', async () => {
  await expect(inspectTarball(join(base, 'nowhere'))).rejects.toMatchObject({ code: 'ENOENT' })
})
