import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { pack } from 'tar-stream'
import { expect, test } from 'vitest'
import { readTar } from './read-tar.ts'
import { rewriteTar } from './rewrite-tar.ts'
import { decodeRecords, encodeHeader, paddingAfter, type TarHeader, tarEnd } from './tar-header.ts'
import { sanitizeArchive, withoutTopFolder } from './tar-names.ts'

const odd = 'caf\xe9-\xff'
const usual = { mode: 0o640, uid: 3_000_000, gid: 7, mtime: new Date(1_700_000_000_000), linkname: '' }

async function* inPieces(bytes: Buffer, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

async function entriesOf(tar: AsyncIterable<Uint8Array>) {
  const found: (Pick<TarHeader, 'name' | 'linkname' | 'uid'> & { text: string })[] = []
  for await (const { header, content } of readTar(tar)) {
    const text = Buffer.concat(await Array.fromAsync(content)).toString('latin1')
    found.push({ name: header.name, linkname: header.linkname, uid: header.uid, text })
  }
  return found
}

const archive = Buffer.concat([
  encodeHeader({ ...usual, name: './', type: 'directory', size: 0 }),
  encodeHeader({ ...usual, name: `./${odd}`, type: 'file', size: 700 }),
  Buffer.alloc(700, 'x'),
  paddingAfter(700),
  encodeHeader({ ...usual, name: `./${'d'.repeat(200)}/${odd}`, type: 'link', size: 0, linkname: `./${odd}` }),
  tarEnd,
])

test.each([1, 511, 512, 100_000])('volume filters keep every byte of a name, in chunks of %i', async (length) => {
  const kept = [
    { name: odd, linkname: '', uid: 3_000_000, text: 'x'.repeat(700) },
    { name: `${'d'.repeat(200)}/${odd}`, linkname: odd, uid: 3_000_000, text: '' },
  ]
  expect(await entriesOf(withoutTopFolder(inPieces(archive, length)))).toEqual(kept)
  expect(await entriesOf(sanitizeArchive(withoutTopFolder(inPieces(archive, length))))).toEqual(kept)
})

test('an entry whose header is dropped is omitted with its content', async () => {
  const rest = rewriteTar(inPieces(archive, 100), (header) => (header.type === 'file' ? null : header))
  expect((await entriesOf(rest)).map(({ text }) => text)).toEqual(['', ''])
})

test('an archive of another program is read unchanged', async () => {
  const tar = pack()
  tar.entry({ name: 'a/ü', uid: 5 }, 'one')
  tar.entry({ name: `${'p'.repeat(90)}/${'n'.repeat(60)}`, size: 0 }, '')
  tar.finalize()
  const read = await entriesOf(tar as unknown as AsyncIterable<Uint8Array>)
  expect(read.map(({ name, text }) => [Buffer.from(name, 'latin1').toString(), text])).toEqual([
    ['a/ü', 'one'],
    [`${'p'.repeat(90)}/${'n'.repeat(60)}`, ''],
  ])
})

test.each([100, 600, 1100, 1400])('an archive truncated after %i bytes is an error', async (length) => {
  await expect(entriesOf(inPieces(archive.subarray(0, length), 64))).rejects.toThrow('incomplete')
})

test('a changed header and one that needs too much memory are refused', async () => {
  const changed = Buffer.from(archive)
  changed[3] = 1
  await expect(entriesOf(inPieces(changed, 512))).rejects.toThrow('checksum does not match')
  const long = encodeHeader({ ...usual, name: 'x', type: 'file', size: 2_000_000 })
  long.write('x', 156)
  long.write(`${sumOf(long).toString(8).padStart(6, '0')} `, 148, 'latin1')
  await expect(entriesOf(inPieces(long, 512))).rejects.toThrow('too long')
})

const sumOf = (header: Buffer) => header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0)

test.each(['xxxxxxx', '0 a=b', '-5 a=b', '99 a=b\n', '7 a=b\n 7'])('parsing stops at the invalid records %j', (text) => {
  expect([...decodeRecords(Buffer.from(text))]).toEqual([])
})

test('global headers with unused records do not accumulate in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const count = 60
  async function* globalHeaders(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < count; at++) {
      const key = `k${String(at).padStart(4, '0')}`
      const size = 512 * 1024
      const record = `${size} ${key}=`
      const header = encodeHeader({ ...usual, name: 'pax', type: 'file', size })
      header.write('g', 156)
      header.fill(' ', 148, 156)
      header.write(
        `${header
          .reduce((sum, byte) => sum + byte, 0)
          .toString(8)
          .padStart(6, '0')}\0 `,
        148,
      )
      yield header
      yield Buffer.concat([Buffer.from(record), Buffer.alloc(size - record.length - 1, 'x'), Buffer.from('\n')])
    }
    collect()
    grown = process.memoryUsage().heapUsed - before
    yield tarEnd
  }
  collect()
  const before = process.memoryUsage().heapUsed
  let grown = 0
  expect(await entriesOf(globalHeaders())).toEqual([])
  expect(grown).toBeGreaterThan(0 - count * 512 * 1024)
  expect(grown).toBeLessThan((count * 512 * 1024) / 4)
})
