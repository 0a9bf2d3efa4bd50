import { createHash } from 'node:crypto'
import { collectYoung, inSteadyMemory } from '../../platform/steady-memory.ts'
import { StoreFailure } from '../archive-store/store-failure.ts'
import { InvalidAgeFile } from './age-header.ts'
import { type ArchiveIndex, type ArchivePart, type ArchiveReadOptions, maxPartBytes } from './archive.ts'
import type { PartWorkers } from './part-workers.ts'
import { freeBuffer } from './seal-part.ts'

/** Limit of an encrypted part; incompressible content grows a little. */
const maxSealedBytes = maxPartBytes + 1024 * 1024

/** Parts read ahead: one is decrypted while the other is fetched. Each takes a few MiB of memory. */
const partsAhead = 2
const collectAfterBytes = 8 * 1024 * 1024

export interface ReadKeys {
  identities: readonly string[]
  contentKeys: readonly Uint8Array[]
}

/** Reads the parts in order. While one is returned, the next is decrypted and the one after it is fetched. */
export async function* readArchive(index: ArchiveIndex, reading: ArchiveReadOptions, keys: ReadKeys, workers: PartWorkers) {
  refuseOversized(index)
  const stop = new AbortController()
  const abort = AbortSignal.any([reading.abort, stop.signal])
  const progress = { bytes: 0 }
  const pending: Promise<Uint8Array>[] = []
  let started = 0
  let returnedBytes = 0
  const readAhead = () => {
    for (; pending.length < partsAhead && started < index.parts.length; started += 1) {
      const opened = readPart(index.parts[started]!, index, { ...reading, abort }, keys, workers, progress)
      opened.catch(() => undefined)
      pending.push(opened)
    }
  }
  try {
    for (readAhead(); pending.length > 0; ) {
      const plain = await pending.shift()!
      readAhead()
      returnedBytes += plain.length
      yield plain
      reading.abort.throwIfAborted()
      if (returnedBytes < collectAfterBytes) continue
      // The caller no longer uses the returned chunks, so they can be collected.
      returnedBytes = 0
      collectYoung()
    }
  } finally {
    stop.abort(new Error('The reader stopped before the end of the archive'))
    await Promise.allSettled(pending)
  }
}

async function readPart(
  part: ArchivePart,
  { compression }: ArchiveIndex,
  reading: ArchiveReadOptions,
  { identities, contentKeys }: ReadKeys,
  workers: PartWorkers,
  progress: { bytes: number },
): Promise<Uint8Array> {
  const sealed = await fetchPart(part, reading)
  progress.bytes += sealed.length
  reading.onProgress?.(progress.bytes)
  const content = { keys: contentKeys, hash: part.content }
  try {
    const maxBytes = part.plainBytes
    const plain = await workers.run({ do: 'open', sealed, compression, identities, maxBytes, expectedBytes: maxBytes, content })
    if (plain.length !== part.plainBytes) throw new InvalidAgeFile('is shorter than its index states')
    return plain
  } catch (error) {
    throw error instanceof InvalidAgeFile ? corrupt(part.name, error.message, error) : error
  }
}

/**
 * Refuses an index with too large parts: it comes from a destination, and must not cause more memory use than Berth's own
 * archives.
 */
function refuseOversized(index: ArchiveIndex): void {
  const oversized = index.parts.find((part) => part.plainBytes > maxPartBytes || part.sizeBytes > maxSealedBytes)
  if (oversized) throw corrupt(oversized.name, 'is larger than any part can be')
}

async function fetchPart({ name, sizeBytes }: ArchivePart, { store, abort }: ArchiveReadOptions): Promise<Uint8Array> {
  const sealed = Buffer.allocUnsafeSlow(sizeBytes)
  let at = 0
  for await (const chunk of inSteadyMemory(store.get(name, abort))) {
    if (at + chunk.length > sizeBytes) throw corrupt(name, 'is larger than it was when it was stored')
    sealed.set(chunk, at)
    at += chunk.length
    // A chunk as large as its buffer shares the buffer with no other chunk, so the buffer can be freed.
    if (chunk.length === chunk.buffer.byteLength) freeBuffer(chunk)
  }
  if (at < sizeBytes) throw corrupt(name, 'is shorter than it was when it was stored')
  return sealed
}

export async function verifyArchive(index: ArchiveIndex, reading: ArchiveReadOptions & { everything?: boolean }): Promise<void> {
  let bytes = 0
  for (const part of index.parts) {
    reading.abort.throwIfAborted()
    if (part.reused && !reading.everything) await checkSize(part, reading)
    else await checkBytes(part, reading)
    bytes += part.sizeBytes
    reading.onProgress?.(bytes)
  }
}

async function checkSize({ name, sizeBytes }: ArchivePart, { store, abort }: ArchiveReadOptions): Promise<void> {
  const size = await store.size(name, abort)
  if (size === undefined) throw new StoreFailure('missing', `${name} is missing at the destination`)
  if (size !== sizeBytes) throw corrupt(name, `has ${size} bytes at the destination, not ${sizeBytes}`)
}

async function checkBytes({ name, sizeBytes, sha256 }: ArchivePart, { store, abort }: ArchiveReadOptions): Promise<void> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of inSteadyMemory(store.get(name, abort))) {
    bytes += chunk.length
    if (bytes > sizeBytes) break
    hash.update(chunk)
    if (chunk.length === chunk.buffer.byteLength) freeBuffer(chunk)
  }
  if (bytes !== sizeBytes || hash.digest('hex') !== sha256) throw corrupt(name, 'differs from the stored data')
}

const corrupt = (name: string, message: string, cause?: unknown) => new StoreFailure('corrupt', `${name} ${message}`, { cause })
