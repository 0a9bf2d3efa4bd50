import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'

/** Test support: malicious archives, built byte by byte, because ordinary tools refuse to create them. */
export interface HostileArchive {
  /** The defect of the archive. */
  title: string
  bytes: Buffer
  refusal: 'BadEntry' | 'BadArchive'
  /** Text that the error message must contain. */
  names: string | RegExp
  limits?: { maxDecompressedBytes?: number; maxEntries?: number }
}

export interface TarEntry {
  name: string
  type?: string
  content?: string | Buffer
  linkname?: string
  mode?: number
  /** Overrides the stated size with a false one. */
  size?: number
}

/** An entry as bytes: its header, then its content in blocks of 512. */
export function tarEntry({ name, type = '0', content = '', linkname = '', mode = 0o644, size }: TarEntry): Buffer {
  const body = Buffer.from(content)
  const header = Buffer.alloc(512)
  header.write(name, 0, 100)
  header.write(`${octal(mode, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0${octal(size ?? body.length, 11)}\0${octal(0, 11)}\0`, 100)
  header.write('        ', 148)
  header.write(type, 156)
  header.write(linkname, 157, 100)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)}\0 `, 148)
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)])
}

export const tarEnd = Buffer.alloc(1024)

export const tarball = (...entries: TarEntry[]): Buffer => gzipSync(Buffer.concat([...entries.map(tarEntry), tarEnd]))

/** An extended header: its records override the fields of the entry that follows. */
export function paxEntry(records: Record<string, string>): TarEntry {
  const content = Object.entries(records).map(([key, value]) => paxRecord(key, value))
  return { name: 'PaxHeader/x', type: 'x', content: content.join('') }
}

const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')

function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  let length = Buffer.byteLength(rest) + 1
  while (String(length).length + Buffer.byteLength(rest) !== length) length += 1
  return `${length}${rest}`
}

const good: TarEntry = { name: 'package.json', content: '{}' }
const link = (name: string, linkname: string): TarEntry => ({ name, type: '2', linkname })
const hardlink = (name: string, linkname: string): TarEntry => ({ name, type: '1', linkname })
const folder = (name: string): TarEntry => ({ name, type: '5', mode: 0o755 })
const file = (name: string): TarEntry => ({ name, content: 'owned' })

function badEntry(title: string, names: string | RegExp, ...entries: TarEntry[]): HostileArchive {
  return { title, names, refusal: 'BadEntry', bytes: tarball(good, ...entries) }
}

function badArchive(title: string, names: string | RegExp, bytes: Buffer): HostileArchive {
  return { title, names, refusal: 'BadArchive', bytes }
}

export function hostileCorpus(): HostileArchive[] {
  return [...badNames(), ...badLinks(), ...badKinds(), ...tooMuch(), ...notWhole()]
}

function badNames(): HostileArchive[] {
  const long = 'x'.repeat(256)
  return [
    badEntry('an absolute path', '/etc/cron.d/owned', file('/etc/cron.d/owned')),
    badEntry('an absolute path in an extended header', '/tmp/owned', paxEntry({ path: '/tmp/owned' }), file('innocent')),
    badEntry('`..` at the start', '../owned', file('../owned')),
    badEntry('`..` in the middle', 'a/../../owned', file('a/../../owned')),
    badEntry('`..` at the end', 'a/..', folder('a/..')),
    badEntry('`..` alone', '..', folder('..')),
    badEntry(
      '`..` in a long GNU name',
      '../owned-by-gnu',
      { name: '././@LongLink', type: 'L', content: '../owned-by-gnu\0' },
      file('a'),
    ),
    badEntry('`..` in an extended header', '../owned-by-pax', paxEntry({ path: '../owned-by-pax' }), file('innocent')),
    badEntry('a NUL in the name', /before.after/, paxEntry({ path: 'before\0after' }), file('innocent')),
    badEntry('a name over 255 bytes', long, paxEntry({ path: `a/${long}` }), file('innocent')),
    badEntry('a path over 2,000 bytes', 'd/d/d', paxEntry({ path: `${'d/'.repeat(1001)}f` }), file('innocent')),
    { ...badEntry('a name that is not UTF-8', 'caf'), bytes: notUtf8() },
  ]
}

function badLinks(): HostileArchive[] {
  return [
    badEntry('a link to an absolute path', 'passwords', link('passwords', '/etc/shadow')),
    badEntry('a link out of the folder', 'up', link('up', '../secret')),
    badEntry('a link out of the folder, from below', 'a/b/up', link('a/b/up', '../../../secret')),
    badEntry('a link that goes out and comes back', 'a/back', link('a/back', '../../folder/x')),
    badEntry('a link that leaves through another link', 'out', link('a/b/top', '../..'), link('out', 'a/b/top/../..')),
    badEntry('a link that leaves through a link that comes later', 'out', link('out', 'a/b/top/../..'), link('a/b/top', '../..')),
    badEntry('a link target in an extended header', 'innocent', paxEntry({ linkpath: '/etc' }), link('innocent', 'package.json')),
    badEntry('a file through an outward link', 'through/owned', link('through', '..'), file('through/owned')),
    badEntry('a file through an inward link', 'through/owned', folder('real'), link('through', 'real'), file('through/owned')),
    badEntry('a folder through a link', 'through/new', link('through', '..'), folder('through/new')),
    badEntry('a link through a link', 'through/deep', link('through', '.'), link('through/deep', '..')),
    badEntry('a file replaced by a link', 'twice', file('twice'), link('twice', '/etc/passwd'), file('twice')),
    badEntry('a file replaced by an inward link', 'twice', file('twice'), link('twice', 'package.json')),
    badEntry('a link replaced by a file', 'twice', link('twice', 'package.json'), file('twice')),
    badEntry('a folder replaced by a link', 'twice', folder('twice'), link('twice', '.'), file('twice/owned')),
    badEntry('a link replaced by a folder', 'twice', link('twice', '.'), folder('twice')),
    badEntry('a file below a file', 'package.json/owned', file('package.json/owned')),
    badEntry('a hard link to an absolute path', 'passwords', hardlink('passwords', '/etc/shadow')),
    badEntry('a hard link out of the folder', 'up', hardlink('up', '../../etc/shadow')),
    badEntry('a hard link to what is not in the archive', 'dangling', hardlink('dangling', 'nowhere')),
    badEntry('a hard link to a link', 'copy', link('l', 'package.json'), hardlink('copy', 'l')),
    badEntry('a hard link to a folder', 'copy', folder('d'), hardlink('copy', 'd')),
    badEntry('a hard link to itself', 'package.json', hardlink('package.json', 'package.json')),
    badEntry('a link without a target', 'nothing', link('nothing', '')),
  ]
}

function badKinds(): HostileArchive[] {
  return [
    badEntry('a character device', 'dev/null', { name: 'dev/null', type: '3' }),
    badEntry('a block device', 'dev/sda', { name: 'dev/sda', type: '4' }),
    badEntry('a named pipe', 'pipe', { name: 'pipe', type: '6' }),
    badEntry('a socket', 'socket', { name: 'socket', type: 's' }),
    badEntry('an unknown kind', 'odd', { name: 'odd', type: 'Q' }),
    badEntry('a GNU sparse file', 'sparse', { name: 'sparse', type: 'S' }),
    badEntry('a sparse file in an extended header', 'sparse', paxEntry({ 'GNU.sparse.major': '1', path: 'sparse' }), file('x')),
  ]
}

function tooMuch(): HostileArchive[] {
  const zeros = Buffer.alloc(8_000_000)
  const many = Array.from({ length: 60 }, (_, index) => file(`file-${index}`))
  const tangled = Array.from({ length: 2_000 }, (_, index) => link(`l${index}`, `${'a/../'.repeat(15)}l${index + 1}`))
  return [
    { ...badEntry('a bomb', 'bomb', { name: 'bomb', content: zeros }), limits: { maxDecompressedBytes: 1_000_000 } },
    {
      ...badEntry('a size that is a lie', 'lie', { name: 'lie', size: 0o77777777777 }),
      limits: { maxDecompressedBytes: 1_000_000 },
    },
    { ...badArchive('too many entries', '50 entries', tarball(...many)), limits: { maxEntries: 50 } },
    badArchive('links through links without end', 'links', tarball(...tangled)),
    badArchive(
      'a header of many megabytes',
      'damaged',
      tarball(good, { name: 'x', type: 'x', content: Buffer.alloc(5_000_000, '1') }),
    ),
  ]
}

function notWhole(): HostileArchive[] {
  const noise = randomBytes(200_000)
  const whole = tarball(good, { name: 'noise', content: noise })
  const tar = Buffer.concat([tarEntry(good), tarEntry({ name: 'noise', content: noise }), tarEnd])
  const flipped = Buffer.from(whole)
  flipped[whole.length >> 1]! ^= 0xff
  return [
    badArchive('cut in the middle', 'cut off', whole.subarray(0, whole.length >> 1)),
    badArchive('cut by its last byte', 'cut off', whole.subarray(0, -1)),
    badArchive('a tar cut in a file, compressed whole', /cut off.*noise/, gzipSync(tar.subarray(0, 100_000))),
    badArchive('a tar cut between two entries', /cut off.*package\.json/, gzipSync(tarEntry(good))),
    badArchive('one bit wrong', 'damaged', flipped),
    badArchive('bytes after the end of gzip', 'after its end', Buffer.concat([whole, Buffer.from('#!/bin/sh\nid\n')])),
    badArchive('bytes after the end of tar', 'damaged', gzipSync(Buffer.concat([tar, Buffer.alloc(512, 'x'), tarEnd]))),
    badArchive(
      'a wrong header sum',
      'damaged',
      gzipSync(Buffer.concat([tarEntry(good), tarEntry(good).fill('9', 148, 154), tarEnd])),
    ),
    badArchive('not gzip', 'gzip', Buffer.from('PK\x03\x04 this is a zip, or so it says')),
    badArchive('an uncompressed tar', 'gzip', tar),
    badArchive('gzip, but no tar', 'not a tar', gzipSync(Buffer.alloc(4096, 'hello'))),
    badArchive('nothing at all', 'cut off', Buffer.alloc(0)),
    badArchive('no entry', 'no files', gzipSync(tarEnd)),
    badArchive('only the folder itself', 'no files', tarball({ name: './', type: '5' })),
  ]
}

/** The name "café" in Latin-1. */
function notUtf8(): Buffer {
  const entry = tarEntry(file('caf#'))
  entry[3] = 0xe9
  const sum = entry
    .fill(' ', 148, 156)
    .subarray(0, 512)
    .reduce((total, byte) => total + byte, 0)
  entry.write(`${octal(sum, 6)}\0 `, 148)
  return gzipSync(Buffer.concat([entry, tarEnd]))
}
