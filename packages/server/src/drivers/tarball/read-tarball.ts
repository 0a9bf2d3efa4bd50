import { type FileHandle, open } from 'node:fs/promises'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, type Gunzip } from 'node:zlib'
import { readTar, type TarEntry } from '../tar/read-tar.ts'
import { asText, TarError } from '../tar/tar-header.ts'
import { ArchiveTree, type CheckedEntry, type EntryHeader } from './archive-tree.ts'
import { BadArchive, BadEntry, megabytes } from './tarball-errors.ts'

export interface TarballLimits {
  /** Limit of the whole tar stream, counted during decompression. */
  maxDecompressedBytes?: number
  maxEntries?: number
  abort?: AbortSignal
}

export interface TarballSummary {
  entries: number
  files: number
  contentBytes: number
  /** The single folder that contains everything, or null: the client may have archived the folder itself or its content. */
  commonRoot: string | null
}

/** `content` must be read to its end, or the archive does not continue. */
export type EntryVisitor = (entry: CheckedEntry, content: AsyncIterable<Uint8Array>) => Promise<void>

export const defaultLimits = { maxDecompressedBytes: 2 * 1024 ** 3, maxEntries: 200_000 }

/**
 * Passes every valid entry to the visitor, in order. Throws `BadEntry` or `BadArchive`; the caller must then discard
 * everything.
 */
export async function readTarball(file: string, limits: TarballLimits, visit: EntryVisitor): Promise<TarballSummary> {
  const reading = new TarballReading({ ...defaultLimits, ...limits }, visit)
  const outcomes = await Promise.allSettled(decompress(file, reading, limits.abort))
  limits.abort?.throwIfAborted()
  const failures = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reading.explain(reason))
  if (failures.length > 0)
    throw failures.find(isArchiveError) ?? failures.find((failure) => !isFollowUpError(failure)) ?? failures[0]
  return reading.finish()
}

/**
 * Decompresses the file with one reused buffer. A stream would leave hundreds of megabytes of buffers to the garbage collector,
 * which frees them late on a busy machine.
 */
function decompress(file: string, reading: TarballReading, abort?: AbortSignal): Promise<void>[] {
  const gunzip = createGunzip()
  const entries = Promise.withResolvers<void>()
  const drained = pipeline(
    gunzip,
    reading.meter(),
    (bytes: AsyncIterable<Uint8Array>) => {
      entries.resolve(reading.readEntries(readTar(bytes)))
      return entries.promise
    },
    { signal: abort },
  )
  // Without a first byte the entries are never read.
  drained.catch(() => entries.resolve())
  const feeding = withFile(file, async (handle) => {
    const buffer = Buffer.alloc(65_536)
    for (let size = -1; size !== 0 && !gunzip.destroyed; ) {
      size = (await handle.read(buffer, 0, buffer.length)).bytesRead
      if (size > 0) await writeChunk(gunzip, buffer.subarray(0, size))
    }
    gunzip.end()
  }).catch((error) => {
    gunzip.destroy(error)
  })
  return [entries.promise, drained, feeding]
}

/** A destroyed stream calls no callback, so its close event is awaited too; its reader receives the error. */
async function writeChunk(gunzip: Gunzip, chunk: Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  gunzip.once('close', resolve)
  gunzip.write(chunk, () => resolve())
  await promise
  gunzip.off('close', resolve)
}

async function withFile(path: string, use: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(path)
  try {
    await use(handle)
  } finally {
    await handle.close()
  }
}

const isArchiveError = (error: unknown) => error instanceof BadEntry || error instanceof BadArchive

/** An error of a stream that was destroyed because another stream of the pipeline failed. */
const isFollowUpError = (error: unknown) =>
  error instanceof Error && 'code' in error && /STREAM_DESTROYED|PREMATURE_CLOSE/.test(String(error.code))

/** POSIX ends an archive with two empty blocks; without them it may be truncated between two entries. */
const endMarkBytes = 1024

class TarballReading {
  readonly #limits: { maxDecompressedBytes: number; maxEntries: number }
  readonly #visit: EntryVisitor
  readonly #tree = new ArchiveTree()
  readonly #summary = { entries: 0, files: 0, contentBytes: 0 }
  #lastName: string | undefined
  #bytes = 0
  #end: Buffer = Buffer.alloc(0)

  constructor(limits: { maxDecompressedBytes: number; maxEntries: number }, visit: EntryVisitor) {
    this.#limits = limits
    this.#visit = visit
  }

  meter(): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        this.#bytes += chunk.length
        this.#end = chunk.length >= endMarkBytes ? chunk : Buffer.concat([this.#end, chunk])
        this.#end = this.#end.subarray(-endMarkBytes)
        done(this.#bytes > this.#limits.maxDecompressedBytes ? this.#tooLarge() : null, chunk)
      },
    })
  }

  async readEntries(entries: AsyncIterable<TarEntry>): Promise<void> {
    for await (const { header, content } of entries)
      await this.#read({ ...header, name: asText(header.name), linkname: asText(header.linkname) }, content)
  }

  async finish(): Promise<TarballSummary> {
    if (this.#end.length < endMarkBytes || this.#end.some((byte) => byte !== 0))
      throw new BadArchive(`is cut off${this.#position()}`)
    if (this.#tree.isEmpty) throw new BadArchive('contains no files')
    await this.#tree.checkLinks()
    return { ...this.#summary, commonRoot: this.#tree.commonRoot }
  }

  async #read(header: EntryHeader, content: AsyncIterable<Uint8Array>): Promise<void> {
    this.#lastName = header.name
    this.#summary.entries += 1
    if (this.#summary.entries > this.#limits.maxEntries) throw new BadArchive(`has more than ${this.#limits.maxEntries} entries`)
    if (header.size > this.#limits.maxDecompressedBytes) throw this.#tooLarge()
    // Tar readers disagree on whether content follows. Old archives mark a folder by a trailing slash alone.
    const isFolder = header.type === 'directory' || (header.type === 'file' && header.name.endsWith('/'))
    if (isFolder && header.size > 0) throw new BadEntry(header.name, 'is a folder with a non-zero size')
    const visibleContent = await withoutAppleDouble(header, content)
    const entry = visibleContent && this.#tree.add(header)
    if (!visibleContent || !entry) return drain(visibleContent ?? content)
    if (entry.kind === 'file') this.#summary.files += 1
    await this.#visit(entry, this.#counted(visibleContent))
  }

  async *#counted(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      this.#summary.contentBytes += chunk.length
      yield chunk
    }
  }

  #tooLarge(): BadEntry {
    return new BadEntry(
      this.#lastName ?? '',
      `makes the archive larger than ${megabytes(this.#limits.maxDecompressedBytes)} MB when unpacked`,
    )
  }

  #position(): string {
    return this.#lastName === undefined ? '' : ` at or after "${this.#lastName}"`
  }

  /** Maps errors of zlib and of the tar reader to messages for the user who made the archive. */
  explain(error: unknown): unknown {
    if (!(error instanceof Error)) return error
    const code = 'code' in error ? String(error.code) : ''
    if (code === 'Z_BUF_ERROR' || (error instanceof TarError && error.isCutOff))
      return new BadArchive(`is cut off${this.#position()}`, error)
    if (code.startsWith('Z_')) {
      return new BadArchive(
        this.#bytes === 0 ? 'is not compressed with gzip' : `is damaged, or has data after its end${this.#position()}`,
        error,
      )
    }
    if (error instanceof TarError) {
      return new BadArchive(this.#lastName === undefined ? 'is not a tar archive' : `is damaged${this.#position()}`, error)
    }
    return error
  }
}

const appleDoubleMagic = Buffer.from([0x00, 0x05, 0x16, 0x07])

/**
 * macOS stores a file's extended attributes beside it as `._name`; builds that load whole folders fail on them. Null for such
 * an entry, which is recognised by its content: a project may have a file with such a name.
 */
async function withoutAppleDouble(
  header: EntryHeader,
  content: AsyncIterable<Uint8Array>,
): Promise<AsyncIterable<Uint8Array> | null> {
  if (header.type !== 'file' || !/(^|\/)\._[^/]*$/.test(header.name)) return content
  const chunks = content[Symbol.asyncIterator]()
  let start: Buffer = Buffer.alloc(0)
  while (start.length < appleDoubleMagic.length) {
    const next = await chunks.next()
    if (next.done) break
    start = Buffer.concat([start, next.value])
  }
  const rest = prepend(start, chunks)
  if (!start.subarray(0, appleDoubleMagic.length).equals(appleDoubleMagic)) return rest
  await drain(rest)
  return null
}

async function* prepend(start: Buffer, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield start
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}

export async function drain(content: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _chunk of content);
}
