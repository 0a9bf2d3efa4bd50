import { StoreFailure } from '../archive-store/store-failure.ts'
import { InvalidAgeFile } from './age-header.ts'
import {
  type ArchiveIndex,
  type ArchiveReadOptions,
  type ArchiveWriteOptions,
  type Compression,
  defaultPartBytes,
} from './archive.ts'
import type { PartWorkers } from './part-workers.ts'
import { readArchive } from './read-archive.ts'
import { compressionHere } from './seal-part.ts'
import { writeArchive } from './write-archive.ts'

/** Writes archives that another instance reads. Equal content is recognised by a hash under a key that only these two know. */
export interface TransferWriter {
  write(content: AsyncIterable<Uint8Array>, writing: ArchiveWriteOptions): Promise<ArchiveIndex>
  seal(content: Uint8Array): Promise<{ sealed: Uint8Array; sha256: string; compression: Compression }>
}

export interface TransferReader {
  read(index: ArchiveIndex, contentKey: Uint8Array, reading: ArchiveReadOptions): AsyncIterable<Uint8Array>
  /** Rejects with `StoreFailure` `corrupt` when the content was encrypted to another key, was modified, or exceeds `maxBytes`. */
  unseal(sealed: Uint8Array, compression: Compression, maxBytes: number): Promise<Uint8Array>
}

/** `workers` belong to the caller: several archives may share them. */
export function createTransferWriter(
  { recipient, contentKey }: { recipient: string; contentKey: Uint8Array },
  workers: PartWorkers,
): TransferWriter {
  const recipients = [recipient]
  return {
    write: (content, writing) => writeArchive(content, writing, { recipients, contentKey, partBytes: defaultPartBytes }, workers),
    async seal(content) {
      // A copy, since the buffer is transferred to the thread.
      const sealed = await workers.run({ do: 'seal', plain: Uint8Array.from(content), recipients })
      return { ...sealed, compression: compressionHere }
    },
  }
}

export function createTransferReader(identity: string, workers: PartWorkers): TransferReader {
  const identities = [identity]
  return {
    read: (index, contentKey, reading) => readArchive(index, reading, { identities, contentKeys: [contentKey] }, workers),
    async unseal(given, compression, maxBytes) {
      try {
        return await workers.run({ do: 'open', sealed: Uint8Array.from(given), compression, identities, maxBytes })
      } catch (error) {
        throw error instanceof InvalidAgeFile
          ? new StoreFailure('corrupt', `The bundle ${error.message}`, { cause: error })
          : error
      }
    },
  }
}
