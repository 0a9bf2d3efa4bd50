import { block, decodeHeader, decodeRecords, TarError, type TarHeader } from './tar-header.ts'

/** Limit of an extended header. Names have at most some KiB; a longer one is an attack on memory. */
const maxExtensionLength = 1024 * 1024
/** Types of extended headers, which belong to the entry that follows (`g`: to all entries that follow). */
const extensionFlags = new Set(['x', 'g', 'L', 'K'])
const incomplete = () => new TarError('The tar archive is incomplete', { isCutOff: true })

export interface TarEntry {
  header: TarHeader
  /** The content as a stream, in chunks of the source; unread content is skipped when the next entry is requested. */
  content: AsyncIterable<Uint8Array>
}

/** Reads the entries of a tar stream. Only headers are copied. Throws when the archive is truncated or is not a tar. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry, void, void> {
  const bytes = new ByteSource(source)
  const globalRecords = new Map<string, string>()
  let entryRecords = new Map<string, string>()
  try {
    while (true) {
      const raw = await bytes.readExactly(block)
      if (!raw) return
      const header = decodeHeader(raw)
      if (!header) continue
      if (!Number.isSafeInteger(header.size)) throw new TarError('The tar archive has an entry without a valid size')
      if (extensionFlags.has(header.flag)) {
        for (const [key, value] of await readExtension(bytes, header))
          (header.flag === 'g' ? globalRecords : entryRecords).set(key, value)
        continue
      }
      const content = new Content(bytes, applyRecords(header, globalRecords, entryRecords))
      entryRecords = new Map()
      yield { header, content }
      await content.skip()
    }
  } finally {
    await bytes.end()
  }
}

async function readExtension(bytes: ByteSource, { flag, size }: { flag: string; size: number }): Promise<Map<string, string>> {
  if (size > maxExtensionLength) throw new TarError('The tar archive has a header that is too long')
  const raw = await bytes.readExactly(Math.ceil(size / block) * block)
  if (!raw) throw incomplete()
  const content = raw.subarray(0, size)
  if (flag === 'x' || flag === 'g') return decodeRecords(content)
  const end = content.indexOf(0)
  return new Map([[flag === 'L' ? 'path' : 'linkpath', content.toString('latin1', 0, end === -1 ? content.length : end)]])
}

/** Applies extended headers; returns the number of content bytes that follow. */
function applyRecords(header: TarHeader, globalRecords: Map<string, string>, entryRecords: Map<string, string>): number {
  const recordValue = (key: string) => entryRecords.get(key) ?? globalRecords.get(key)
  header.name = recordValue('path') || header.name
  header.linkname = recordValue('linkpath') || header.linkname
  for (const key of ['size', 'uid', 'gid'] as const) {
    const number = recordValue(key)
    if (number !== undefined) header[key] = /^\d{1,15}$/.test(number) ? Number(number) : Number.NaN
  }
  if (!Number.isSafeInteger(header.size)) throw new TarError('The tar archive has an entry without a valid size')
  for (const key of entryRecords.keys()) if (key.startsWith('GNU.sparse')) header.isSparse = true
  if (entryRecords.get('GNU.sparse.major') === '1' && entryRecords.get('GNU.sparse.minor') === '0' && header.type === 'file') {
    const realSize = entryRecords.get('GNU.sparse.realsize') ?? ''
    if (!/^\d{1,15}$/.test(realSize)) throw new TarError('The tar archive has an entry without a valid size')
    header.name = entryRecords.get('GNU.sparse.name') || header.name
    header.sparse = { realSize: Number(realSize) }
  }
  return header.size
}

class Content implements AsyncIterable<Uint8Array> {
  readonly #bytes: ByteSource
  readonly #padding: number
  #remaining: number

  constructor(bytes: ByteSource, size: number) {
    this.#bytes = bytes
    this.#remaining = size
    this.#padding = Math.ceil(size / block) * block - size
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (this.#remaining > 0) {
      const piece = await this.#bytes.readSome(this.#remaining)
      this.#remaining -= piece.length
      yield piece
    }
  }

  async skip(): Promise<void> {
    for (let remaining = this.#remaining + this.#padding; remaining > 0; )
      remaining -= (await this.#bytes.readSome(remaining)).length
  }
}

class ByteSource {
  readonly #source: AsyncIterator<Uint8Array>
  #chunk: Uint8Array = new Uint8Array()

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Returns at least one byte. */
  async readSome(max: number): Promise<Uint8Array> {
    if (!(await this.#ensureChunk())) throw incomplete()
    const piece = this.#chunk.subarray(0, max)
    this.#chunk = this.#chunk.subarray(piece.length)
    return piece
  }

  /** Null when the source has ended before the first byte. */
  async readExactly(count: number): Promise<Buffer | null> {
    const gathered = Buffer.alloc(count)
    for (let at = 0; at < count; ) {
      if (at === 0 && !(await this.#ensureChunk())) return null
      const piece = await this.readSome(count - at)
      gathered.set(piece, at)
      at += piece.length
    }
    return gathered
  }

  async end(): Promise<void> {
    await this.#source.return?.()
  }

  async #ensureChunk(): Promise<boolean> {
    while (this.#chunk.length === 0) {
      const next = await this.#source.next()
      if (next.done) return false
      this.#chunk = next.value
    }
    return true
  }
}
