import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder that was packed before it is sent, so that its size and its hash are known; it goes when it is disposed of. */
export interface PackedFile extends AsyncDisposable {
  sizeBytes: number
  sha256: string
  read(): AsyncIterable<Uint8Array>
}

export async function packToFile(chunks: AsyncIterable<Uint8Array>): Promise<PackedFile> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-upload-'))
  const end = () => rm(folder, { recursive: true, force: true })
  const path = join(folder, 'folder.tar.gz')
  try {
    const facts = await write(chunks, path)
    return { ...facts, read: () => createReadStream(path), [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

async function write(chunks: AsyncIterable<Uint8Array>, path: string): Promise<Pick<PackedFile, 'sizeBytes' | 'sha256'>> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  await using file = await open(path, 'wx', 0o600)
  for await (const chunk of chunks) {
    sizeBytes += chunk.length
    hash.update(chunk)
    await file.writeFile(chunk)
  }
  return { sizeBytes, sha256: hash.digest('hex') }
}
