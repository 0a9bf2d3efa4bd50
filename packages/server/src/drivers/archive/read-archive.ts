import { createHash } from 'node:crypto'
import { collectYoung, inSteadyMemory } from '../../platform/steady-memory.ts'
import { StoreFailure } from '../archive-store/store-failure.ts'
import { NotAge } from './age-header.ts'
import { type ArchiveIndex, type ArchivePart, type ArchiveReading, longestPartBytes } from './archive.ts'
import type { PartWorkers } from './part-workers.ts'

/** A part grows by a little where it cannot be compressed. */
const longestSealedBytes = longestPartBytes + 1024 * 1024

export interface ReadKeys {
  identities: readonly string[]
  contentKeys: readonly Uint8Array[]
}

/** While a part is handed out, the next one is fetched and opened. */
export async function* readArchive(index: ArchiveIndex, reading: ArchiveReading, keys: ReadKeys, workers: PartWorkers) {
  refuseStrange(index)
  const stop = new AbortController()
  const abort = AbortSignal.any([reading.abort, stop.signal])
  const progress = { bytes: 0 }
  const open = (part: ArchivePart) => openNext(part, index, { ...reading, abort }, keys, workers, progress)
  try {
    let next = index.parts[0] && open(index.parts[0])
    for (let at = 0; next; at += 1) {
      const plain: Uint8Array = await next
      const following = index.parts[at + 1]
      next = following && open(following)
      next?.catch(() => undefined)
      yield plain
      // What was handed out is dead by now, and is some MB.
      collectYoung()
      reading.abort.throwIfAborted()
    }
  } finally {
    stop.abort(new Error('The reading ended'))
  }
}

async function openNext(
  part: ArchivePart,
  { compression }: ArchiveIndex,
  reading: ArchiveReading,
  { identities, contentKeys }: ReadKeys,
  workers: PartWorkers,
  progress: { bytes: number },
): Promise<Uint8Array> {
  const sealed = await fetchPart(part, reading)
  progress.bytes += sealed.length
  reading.onProgress?.(progress.bytes)
  const content = { keys: contentKeys, hash: part.content }
  try {
    const plain = await workers.run({ do: 'open', sealed, compression, identities, maxBytes: part.plainBytes, content })
    if (plain.length !== part.plainBytes) throw new NotAge('holds less than the index says')
    return plain
  } catch (error) {
    throw error instanceof NotAge ? corrupt(part.name, error.message, error) : error
  }
}

/** An index comes from a destination, too: it may not ask for more memory than any archive of ours needs. */
function refuseStrange(index: ArchiveIndex): void {
  const strange = index.parts.find((part) => part.plainBytes > longestPartBytes || part.sizeBytes > longestSealedBytes)
  if (strange) throw corrupt(strange.name, 'is larger than any part can be')
}

async function fetchPart({ name, sizeBytes }: ArchivePart, { store, abort }: ArchiveReading): Promise<Uint8Array> {
  const sealed = Buffer.allocUnsafeSlow(sizeBytes)
  let at = 0
  for await (const chunk of inSteadyMemory(store.get(name, abort))) {
    if (at + chunk.length > sizeBytes) throw corrupt(name, 'is larger than it was when it was stored')
    sealed.set(chunk, at)
    at += chunk.length
  }
  if (at < sizeBytes) throw corrupt(name, 'is shorter than it was when it was stored')
  return sealed
}

export async function verifyArchive(index: ArchiveIndex, reading: ArchiveReading & { everything?: boolean }): Promise<void> {
  let bytes = 0
  for (const part of index.parts) {
    reading.abort.throwIfAborted()
    if (part.reused && !reading.everything) await checkSize(part, reading)
    else await checkBytes(part, reading)
    bytes += part.sizeBytes
    reading.onProgress?.(bytes)
  }
}

async function checkSize({ name, sizeBytes }: ArchivePart, { store, abort }: ArchiveReading): Promise<void> {
  const size = await store.size(name, abort)
  if (size === undefined) throw new StoreFailure('missing', `${name} is not at the destination any more`)
  if (size !== sizeBytes) throw corrupt(name, `has ${size} bytes at the destination, not ${sizeBytes}`)
}

async function checkBytes({ name, sizeBytes, sha256 }: ArchivePart, { store, abort }: ArchiveReading): Promise<void> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of inSteadyMemory(store.get(name, abort))) {
    bytes += chunk.length
    if (bytes > sizeBytes) break
    hash.update(chunk)
  }
  if (bytes !== sizeBytes || hash.digest('hex') !== sha256) throw corrupt(name, 'is not what was stored')
}

const corrupt = (name: string, words: string, cause?: unknown) => new StoreFailure('corrupt', `${name} ${words}`, { cause })
