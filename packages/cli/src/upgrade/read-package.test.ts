import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readPackage } from './read-package.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-package-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function packed(manifest: object | null): Promise<Buffer> {
  const archive = pack()
  archive.entry({ name: 'package/README.md' }, 'x'.repeat(50_000))
  if (manifest) archive.entry({ name: 'package/package.json' }, JSON.stringify(manifest))
  archive.finalize()
  return gzipSync(Buffer.concat((await Array.fromAsync(archive)) as Buffer[]))
}

const read = (bytes: Buffer) => {
  const file = join(folder, 'package.tgz')
  writeFileSync(file, bytes)
  return readPackage(file)
}

const manifest = { name: '@berthhost/berth', version: '1.2.3' }

test('version, hash and required Node version are read from a package of Berth', async () => {
  const node = { [`node-${process.platform}-${process.arch}`]: '24.21.0' }
  expect(await read(await packed({ ...manifest, optionalDependencies: node }))).toEqual({
    version: '1.2.3',
    integrity: expect.stringMatching(/^sha512-.{86}==$/),
    nodeMajor: 24,
  })
  expect(await read(await packed(manifest))).toMatchObject({ nodeMajor: null })
})

test.each<[string, () => Promise<Buffer>, string]>([
  ['another package', () => packed({ ...manifest, name: 'berth' }), 'is not a package of Berth: it is "berth"'],
  ['a version that is a path', () => packed({ ...manifest, version: '../../1.2.3' }), 'has no valid version'],
  ['no manifest', () => packed(null), 'it has no package.json'],
  ['a package that is cut off', async () => (await packed(manifest)).subarray(0, 100), 'cannot be read as a package'],
  ['a text', async () => Buffer.from('not a package'), 'cannot be read as a package'],
])('%s is refused', async (_, bytes, message) => {
  await expect(read(await bytes())).rejects.toThrow(message)
})

test('a package with any changed byte is refused', async () => {
  const bytes = await packed(manifest)
  const isNoticed = async (at: number) => {
    const damaged = Buffer.from(bytes)
    damaged[at] = damaged[at]! ^ 0x55
    return await read(damaged).then(
      () => false,
      () => true,
    )
  }
  // The header of gzip holds a time and the system, which are no content.
  for (let at = 10; at < bytes.length; at += 7) expect(await isNoticed(at), `byte ${at}`).toBe(true)
})
