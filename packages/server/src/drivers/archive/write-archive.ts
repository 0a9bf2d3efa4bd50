import { createHash } from 'node:crypto'
import { inSteadyMemory } from '../../platform/steady-memory.ts'
import { inMemoryContent } from '../archive-store/in-memory.ts'
import { StoreFailure } from '../archive-store/store-failure.ts'
import type { ArchiveIndex, ArchivePart, ArchiveWriteOptions, WriteProgress } from './archive.ts'
import type { PartWorkers } from './part-workers.ts'
import { compressionHere, freeBuffer } from './seal-part.ts'
import { splitIntoParts } from './split-into-parts.ts'

/** Parts that are encrypted or sent concurrently. More would need more memory than a small machine has. */
const maxConcurrentParts = 3
const cleanUpTimeoutMs = 30_000
const extensions = { zstd: 'zst', gzip: 'gz' }

export interface WriteKeys {
  recipients: readonly string[]
  contentKey: Uint8Array
  partBytes: number
}

export async function writeArchive(
  content: AsyncIterable<Uint8Array>,
  writing: ArchiveWriteOptions,
  keys: WriteKeys,
  workers: PartWorkers,
): Promise<ArchiveIndex> {
  const stop = new AbortController()
  const abort = AbortSignal.any([writing.abort, stop.signal])
  const run = new PartWriter({ ...writing, abort }, keys, workers)
  try {
    for await (const plain of splitIntoParts(inSteadyMemory(content), {
      isTar: writing.extension === 'tar',
      partBytes: keys.partBytes,
    })) {
      abort.throwIfAborted()
      await run.add(plain)
    }
    return indexOf(await run.all())
  } catch (error) {
    stop.abort(error)
    await run.removeStored()
    throw error
  }
}

class PartWriter {
  readonly #writing: ArchiveWriteOptions
  readonly #keys: WriteKeys
  readonly #workers: PartWorkers
  readonly #parts: Promise<ArchivePart>[] = []
  readonly #pending = new Set<Promise<unknown>>()
  readonly #sent: string[] = []
  readonly #progress: WriteProgress = { plainBytes: 0, storedBytes: 0, reusedBytes: 0 }

  constructor(writing: ArchiveWriteOptions, keys: WriteKeys, workers: PartWorkers) {
    this.#writing = writing
    this.#keys = keys
    this.#workers = workers
  }

  /** Resolves when there is room for the next part; rejects as soon as one has failed. */
  async add(plain: Buffer): Promise<void> {
    this.#progress.plainBytes += plain.length
    const part = this.#store(plain, this.#parts.length)
    const pending = part.finally(() => this.#pending.delete(pending))
    pending.catch(() => undefined)
    this.#pending.add(pending)
    this.#parts.push(part)
    if (this.#pending.size >= maxConcurrentParts) await Promise.race(this.#pending)
  }

  all(): Promise<ArchivePart[]> {
    return Promise.all(this.#parts)
  }

  /** Removes the parts of a failed write; a part that cannot be removed now is found by its name later. */
  async removeStored(): Promise<void> {
    await Promise.allSettled(this.#parts)
    const limit = AbortSignal.timeout(cleanUpTimeoutMs)
    await Promise.allSettled(this.#sent.map((name) => this.#writing.store.remove(name, limit)))
  }

  async #store(input: Buffer, number: number): Promise<ArchivePart> {
    const plainBytes = input.length
    const { contentKey, recipients } = this.#keys
    const { content, plain } = await this.#workers.run({ do: 'hash', plain: input, contentKey })
    const earlier = this.#writing.earlier?.get(content)
    if (earlier && earlier.plainBytes === plainBytes) return this.#report({ ...earlier, reused: true })
    const { sealed, sha256 } = await this.#workers.run({ do: 'seal', plain, recipients })
    const name = this.#nameOf(number)
    this.#writing.abort.throwIfAborted()
    this.#sent.push(name)
    const { sizeBytes } = await this.#writing.store.put(name, inMemoryContent(sealed, sha256), this.#writing.abort)
    if (sizeBytes !== sealed.length)
      throw new StoreFailure('corrupt', `Only ${sizeBytes} of ${sealed.length} bytes of ${name} were stored`)
    freeBuffer(sealed)
    return this.#report({ name, content, plainBytes, sizeBytes, sha256, reused: false })
  }

  #report(part: ArchivePart): ArchivePart {
    this.#progress[part.reused ? 'reusedBytes' : 'storedBytes'] += part.sizeBytes
    this.#writing.onProgress?.({ ...this.#progress })
    return part
  }

  #nameOf(number: number): string {
    const { base, extension } = this.#writing
    return `${base}.${String(number).padStart(4, '0')}.${extension}.${extensions[compressionHere]}.age`
  }
}

function indexOf(parts: ArchivePart[]): ArchiveIndex {
  const sum = (of: (part: ArchivePart) => number) => parts.reduce((total, part) => total + of(part), 0)
  return {
    compression: compressionHere,
    parts,
    plainBytes: sum(({ plainBytes }) => plainBytes),
    sizeBytes: sum(({ sizeBytes }) => sizeBytes),
    reusedBytes: sum(({ sizeBytes, reused }) => (reused ? sizeBytes : 0)),
    sha256: hashOf(parts),
  }
}

function hashOf(parts: readonly ArchivePart[]): string {
  const [only, second] = parts
  if (only && !second) return only.sha256
  return createHash('sha256')
    .update(parts.map(({ sha256 }) => `${sha256}\n`).join(''))
    .digest('hex')
}
