import { createHash } from 'node:crypto'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
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
  const file = await open(join(folder, 'folder.tar.gz'), 'wx+', 0o600)
  // Without a name it is gone with this process, however that ends; where a file that is open keeps its name it goes afterwards.
  const forget = () => rm(folder, { recursive: true, force: true })
  await forget().catch(() => undefined)
  const end = async () => {
    await file.close()
    await forget()
  }
  try {
    const facts = await write(chunks, file)
    return { ...facts, read: () => file.createReadStream({ start: 0, autoClose: false }), [Symbol.asyncDispose]: end }
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
