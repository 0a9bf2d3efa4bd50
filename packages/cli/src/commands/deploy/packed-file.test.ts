import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { packToFile } from './packed-file.ts'

let location: string
beforeEach(async () => {
  location = await mkdtemp(join(tmpdir(), 'packed-'))
  vi.stubEnv('TMPDIR', location)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(location, { recursive: true })
})

const parts = ['one', 'two', 'x'.repeat(200_000)].map((text) => Buffer.from(text))
const whole = Buffer.concat(parts)

test('size and hash are known before the content is read, the content can be read twice, and no file name is left', async () => {
  await using file = await packToFile(toRead(parts))
  expect(file).toMatchObject({ sizeBytes: whole.length, sha256: createHash('sha256').update(whole).digest('hex') })
  for (let round = 0; round < 2; round++) expect(Buffer.concat(await Array.fromAsync(file.read()))).toEqual(whole)
  expect(await readdir(location)).toEqual([])
})

test('leaves no file if packing fails', async () => {
  const failing = (async function* () {
    yield* parts
    throw new Error('too large')
  })()
  await expect(packToFile(failing)).rejects.toThrow('too large')
  expect(await readdir(location)).toEqual([])
})

async function* toRead(chunks: readonly Buffer[]) {
  yield* chunks
}
