import { createHash } from 'node:crypto'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A packed folder in a temporary file, so that its size and hash are known before it is sent. Disposing removes the file. */
export interface PackedFile extends AsyncDisposable {
  sizeBytes: number
  sha256: string
  read(): AsyncIterable<Uint8Array>
}

export async function packToFile(chunks: AsyncIterable<Uint8Array>): Promise<PackedFile> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-upload-'))
  const file = await open(join(folder, 'folder.tar.gz'), 'wx+', 0o600)
  // The open file is unlinked at once, so that it disappears with this process. If that is impossible, it is removed afterwards.
  const removeFolder = () => rm(folder, { recursive: true, force: true })
  await removeFolder().catch(() => undefined)
  const end = async () => {
    await file.close()
    await removeFolder()
  }
  try {
    const sizeAndHash = await write(chunks, file)
    return { ...sizeAndHash, read: () => file.createReadStream({ start: 0, autoClose: false }), [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

async function write(chunks: AsyncIterable<Uint8Array>, file: FileHandle): Promise<Pick<PackedFile, 'sizeBytes' | 'sha256'>> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  for await (const chunk of chunks) {
    sizeBytes += chunk.length
    hash.update(chunk)
    await file.writeFile(chunk)
  }
  return { sizeBytes, sha256: hash.digest('hex') }
}
