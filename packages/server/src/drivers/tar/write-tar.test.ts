import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readTar } from './read-tar.ts'
import { asText, tarEnd } from './tar-header.ts'
import { fileEntry, folderEntry, SizeMismatch, smallTar, symlinkEntry, textEntry } from './write-tar.ts'

const long = `${'d'.repeat(120)}/ü-${'f'.repeat(120)}`
const mtime = new Date(1_700_000_000_000)

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

const archive = async () =>
  Buffer.concat([
    folderEntry({ name: 'folder', mode: 0o755, mtime }),
    ...(await Array.fromAsync(fileEntry({ name: 'folder/file', mode: 0o600, size: 6, uid: 7, mtime }, chunks('ab', 'cdef')))),
    textEntry({ name: long, mode: 0o755, mtime }, Buffer.from('text')),
    symlinkEntry({ name: 'link', linkname: 'folder/file', mode: 0o777, mtime }),
    tarEnd,
  ])

test('written entries are read back unchanged', async () => {
  const found = []
  for await (const { header, content } of readTar(chunksOf(await archive()))) {
    const text = Buffer.concat(await Array.fromAsync(content)).toString()
    found.push([asText(header.name), header.type, header.mode, header.uid, asText(header.linkname), text])
  }
  expect(found).toEqual([
    ['folder/', 'directory', 0o755, 0, '', ''],
    ['folder/file', 'file', 0o600, 7, '', 'abcdef'],
    [long, 'file', 0o755, 0, '', 'text'],
    ['link', 'symlink', 0o777, 0, 'folder/file', ''],
  ])
})

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700)
}

test('tar reads the archive', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'write-tar-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'all.tar'), await archive())
  execFileSync('tar', ['-xf', 'all.tar', '--no-same-owner'], { cwd: folder })
  expect(readFileSync(join(folder, 'link'), 'utf8')).toBe('abcdef')
  expect(readFileSync(join(folder, long), 'utf8')).toBe('text')
  expect(statSync(join(folder, 'folder/file')).mtime).toEqual(mtime)
})

test.each([
  ['shorter', 'abc'],
  ['longer', 'abcdefg'],
])('content that is %s than announced is an error', async (_, text) => {
  const entry = fileEntry({ name: 'x', mode: 0o644, size: 6 }, chunks(text))
  await expect(Array.fromAsync(entry)).rejects.toThrow(SizeMismatch)
})

test('an empty archive consists of the end mark', () => {
  expect(smallTar()).toEqual(tarEnd)
})
