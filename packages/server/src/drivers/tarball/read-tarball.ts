import { type FileHandle, open } from 'node:fs/promises'
import { Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, type Gunzip } from 'node:zlib'
import { extract } from 'tar-stream'
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
  const reading = new Reading({ ...defaultLimits, ...limits }, visit)
  const unpacked = extract()
  const entries = reading.readEntries(unpacked).catch((error) => {
    unpacked.destroy()
    throw error
  })
  const bytes = decompress(file, [reading.meter(), unpacked as unknown as Writable], limits.abort)
  const outcomes = await Promise.allSettled([entries, bytes])
  limits.abort?.throwIfAborted()
  const failures = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reading.explain(reason))
  if (failures.length > 0) throw failures.find(isOurs) ?? failures.find((failure) => !isAftermath(failure)) ?? failures[0]
  return reading.finish()
}

/**
 * Decompresses the file with one reused buffer. A stream would leave hundreds of megabytes of buffers to the garbage collector,
 * which frees them late on a busy machine.
 */
async function decompress(file: string, [meter, unpacked]: [Transform, Writable], abort?: AbortSignal): Promise<void> {
  const gunzip = createGunzip()
  const drained = pipeline(gunzip, meter, unpacked, { signal: abort })
  const fed = withFile(file, async (handle) => {
    const buffer = Buffer.alloc(65_536)
    for (let size = -1; size !== 0 && !gunzip.destroyed; ) {
      size = (await handle.read(buffer, 0, buffer.length)).bytesRead
      if (size > 0) await taken(gunzip, buffer.subarray(0, size))
    }
    gunzip.end()
  }).catch((error) => gunzip.destroy(error))
  await Promise.allSettled([drained, fed])
  await drained
}

/** A destroyed stream calls no callback, so its close event is awaited too; its reader receives the error. */
async function taken(gunzip: Gunzip, chunk: Buffer): Promise<void> {
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

const isOurs = (error: unknown) => error instanceof BadEntry || error instanceof BadArchive

/** An error that only follows from the failure of the other side. */
const isAftermath = (error: unknown) =>
  error instanceof Error && 'code' in error && /STREAM_DESTROYED|PREMATURE_CLOSE/.test(String(error.code))

/** POSIX ends an archive with two empty blocks; without them it may be truncated between two entries. */
const endMarkBytes = 1024

class Reading {
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
        done(this.#bytes > this.#limits.maxDecompressedBytes ? this.#tooMuch() : null, chunk)
      },
    })
  }

  async readEntries(unpacked: AsyncIterable<{ header: EntryHeader }>): Promise<void> {
    for await (const entry of unpacked) {
      await this.#read(entry.header, entry as unknown as AsyncIterable<Buffer>)
    }
  }

  async finish(): Promise<TarballSummary> {
    if (this.#end.length < endMarkBytes || this.#end.some((byte) => byte !== 0))
      throw new BadArchive(`is cut off${this.#where()}`)
    if (this.#tree.isEmpty) throw new BadArchive('contains no files')
    await this.#tree.checkLinks()
    return { ...this.#summary, commonRoot: this.#tree.commonRoot }
  }

  async #read(header: EntryHeader, content: AsyncIterable<Buffer>): Promise<void> {
    this.#lastName = header.name
    this.#summary.entries += 1
    if (this.#summary.entries > this.#limits.maxEntries)
      throw new BadArchive(`holds more than ${this.#limits.maxEntries} entries`)
    if (header.size > this.#limits.maxDecompressedBytes) throw this.#tooMuch()
    // tar-stream never ends the content of such an entry: its reader would wait for ever.
    if (header.type === 'directory' && header.size > 0) throw new BadEntry(header.name, 'is a folder with a non-zero size')
    const shown = await withoutAppleDouble(header, content)
    const entry = shown && this.#tree.add(header)
    if (!shown || !entry) return drain(shown ?? content)
    if (entry.kind === 'file') this.#summary.files += 1
    await this.#visit(entry, this.#counted(shown))
  }

  async *#counted(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of content) {
      this.#summary.contentBytes += chunk.length
      yield chunk
    }
  }

  #tooMuch(): BadEntry {
    return new BadEntry(
      this.#lastName ?? '',
      `makes the archive larger than ${megabytes(this.#limits.maxDecompressedBytes)} MB when unpacked`,
    )
  }

  #where(): string {
    return this.#lastName === undefined ? '' : ` at or after "${this.#lastName}"`
  }

  /** Maps errors of zlib and tar-stream to messages for the user who made the archive. */
  explain(error: unknown): unknown {
    if (!(error instanceof Error)) return error
    const code = 'code' in error ? String(error.code) : ''
    if (code === 'Z_BUF_ERROR' || error.message === 'Unexpected end of data')
      return new BadArchive(`is cut off${this.#where()}`, error)
    if (code.startsWith('Z_')) {
      return new BadArchive(
        this.#bytes === 0 ? 'is not compressed with gzip' : `is damaged, or has data after its end${this.#where()}`,
        error,
      )
    }
    if (/^(Invalid|Header exceeds)/.test(error.message)) {
      return new BadArchive(this.#lastName === undefined ? 'is not a tar archive' : `is damaged${this.#where()}`, error)
    }
    return error
  }
}

const appleDoubleMagic = Buffer.from([0x00, 0x05, 0x16, 0x07])

/**
 * macOS stores a file's extended attributes beside it as `._name`; builds that load whole folders fail on them. Null for such
 * an entry, which is recognised by its content: a project may have a file with such a name.
 */
async function withoutAppleDouble(header: EntryHeader, content: AsyncIterable<Buffer>): Promise<AsyncIterable<Buffer> | null> {
  if (header.type !== 'file' || !/(^|\/)\._[^/]*$/.test(header.name)) return content
  const chunks = content[Symbol.asyncIterator]()
  let start: Buffer = Buffer.alloc(0)
  while (start.length < appleDoubleMagic.length) {
    const next = await chunks.next()
    if (next.done) break
    start = Buffer.concat([start, next.value])
  }
  const rest = joined(start, chunks)
  if (!start.subarray(0, appleDoubleMagic.length).equals(appleDoubleMagic)) return rest
  await drain(rest)
  return null
}

async function* joined(start: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield start
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}

export async function drain(content: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _chunk of content);
}
