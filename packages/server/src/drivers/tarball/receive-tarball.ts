import { createHash } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { untilAborted } from '../shell/until-aborted.ts'
import { TooLarge } from './tarball-errors.ts'

export interface ReceiveLimits {
  maxBytes: number
  abort?: AbortSignal
}

/**
 * Writes the bytes beside `targetFile`, one chunk in memory at a time, and renames when all of them are on disk: the file is
 * complete or does not exist. The next attempt overwrites what a killed process left.
 */
export async function receiveTarball(
  source: AsyncIterable<Uint8Array>,
  targetFile: string,
  { maxBytes, abort }: ReceiveLimits,
): Promise<{ sizeBytes: number; sha256: string }> {
  const partial = `${targetFile}.partial`
  await mkdir(dirname(targetFile), { recursive: true })
  try {
    const received = await withFile(partial, 'w', (file) => writeAll(source, file, maxBytes, abort))
    await rename(partial, targetFile)
    // A rename survives a power failure only when its folder was synced, too.
    await withFile(dirname(targetFile), 'r', (folder) => folder.sync())
    return received
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

async function writeAll(source: AsyncIterable<Uint8Array>, file: FileHandle, maxBytes: number, abort?: AbortSignal) {
  const hash = createHash('sha256')
  let sizeBytes = 0
  for await (const chunk of untilAborted(source, abort)) {
    sizeBytes += chunk.length
    if (sizeBytes > maxBytes) throw new TooLarge(maxBytes)
    hash.update(chunk)
    await writeWhole(file, chunk)
  }
  await file.sync()
  return { sizeBytes, sha256: hash.digest('hex') }
}

async function writeWhole(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    written += (await file.write(chunk, written)).bytesWritten
  }
}

async function withFile<Result>(path: string, flags: 'w' | 'r', use: (file: FileHandle) => Promise<Result>): Promise<Result> {
  const file = await open(path, flags, 0o600)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}
