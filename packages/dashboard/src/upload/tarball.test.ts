import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { expect, test } from 'vitest'
import { packTarball } from './tarball.ts'

async function unpack(blob: Blob): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const entries = Readable.from(Buffer.from(await blob.arrayBuffer()))
    .pipe(createGunzip())
    .pipe(extract())
  for await (const entry of entries) found[entry.header.name] = await text(entry)
  return found
}

test('tar unpacks what the browser packs: long names, names in any script, empty files', async () => {
  const long = `${'deep/'.repeat(30)}file.txt`
  const contents = { 'index.html': 'x'.repeat(512), empty: '', 'ünï/日本.txt': 'words', [long]: 'far down' }
  const files = Object.entries(contents).map(([path, text]) => ({ path, file: new File([text], path) }))
  let packed = 0
  const blob = await packTarball(files, (bytes) => {
    packed += bytes
  })
  expect(await unpack(blob)).toEqual(contents)
  expect(packed).toBe(512 + 5 + 8)
})
