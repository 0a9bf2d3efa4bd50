import { chmod, type FileHandle, lchown, link, open, symlink } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract, type Header } from 'tar-stream'
import type { HeldFolder } from './held-folder.ts'

const isRoot = process.getuid?.() === 0

export interface Unpacking {
  /** Whose everything will be, whoever the archive says, where we may say so; null: ours. */
  owner: { uid: number; gid: number } | null
  /** Of all files together; what is more than this ends it. */
  maxBytes?: number
  maxEntries?: number
  abort: AbortSignal
}

export interface Unpacked {
  files: number
  bytes: number
  /** Devices, pipes and the like are left out: how many. */
  leftOut: number
}

/** An archive that is not unpacked; what was written by then is the caller's to remove. */
export class TarRefused extends Error {
  override readonly name = 'TarRefused'
}

/**
 * Unpacks an archive that nobody vouches for into a folder. Each name is entered folder by folder from the root and no link is
 * followed, so nothing is written outside; links are made as they are. No archive brings set-user-id or devices along.
 */
export async function unpackTar(tar: AsyncIterable<Uint8Array>, root: HeldFolder, unpacking: Unpacking): Promise<Unpacked> {
  const reader = extract()
  const work = new Work(root, unpacking)
  // Both at once: a source that fails ends the reader too, and each failure must have somebody who waits for it.
  const outcomes = await Promise.allSettled([
    pipeline(Readable.from(tar), reader, { signal: unpacking.abort }),
    work.all(reader).catch((error: unknown) => {
      reader.destroy(error as Error)
      throw error
    }),
  ])
  unpacking.abort.throwIfAborted()
  const [fed, unpacked] = outcomes
  if (unpacked.status === 'rejected' && unpacked.reason instanceof TarRefused) throw unpacked.reason
  for (const outcome of [fed, unpacked]) if (outcome.status === 'rejected') throw outcome.reason
  return work.done
}

type Part = AsyncIterable<Uint8Array> & { header: Header }

class Work {
  readonly done: Unpacked = { files: 0, bytes: 0, leftOut: 0 }
  readonly #root: HeldFolder
  readonly #unpacking: Unpacking
  #entries = 0

  constructor(root: HeldFolder, unpacking: Unpacking) {
    this.#root = root
    this.#unpacking = unpacking
  }

  async all(reader: ReturnType<typeof extract>): Promise<void> {
    for await (const part of reader) await this.#unpack(part as unknown as Part)
  }

  async #unpack(part: Part): Promise<void> {
    const { name, type, size = 0 } = part.header
    this.#entries += 1
    if (this.#entries > (this.#unpacking.maxEntries ?? Number.POSITIVE_INFINITY))
      throw new TarRefused(`The archive holds more than ${this.#unpacking.maxEntries} entries`)
    // tar-stream never ends the content of such an entry: who reads it waits for ever.
    if (type === 'directory' && size > 0) throw new TarRefused(`${name} is a folder that says it has content`)
    const parts = partsOf(name)
    const last = parts.pop()
    if (last === undefined) return drain(part)
    await inFolder(this.#root, parts, this.#unpacking.owner, (folder) => this.#make(part, folder, last))
  }

  async #make(part: Part, folder: HeldFolder, name: string): Promise<void> {
    const { type, mode, linkname } = part.header
    if (type === 'directory') await (await folder.make(name))[Symbol.asyncDispose]()
    else if (type === 'symlink') await symlink(linkname ?? '', folder.at(name))
    else if (type === 'link') await this.#hardLink(folder, name, linkname ?? '')
    else if (type === 'file' || type === 'contiguous-file') await this.#write(part, await open(folder.at(name), 'wx', 0o600))
    else this.done.leftOut += 1
    await drain(part)
    if (type === 'link' || !['directory', 'symlink', 'file', 'contiguous-file'].includes(type ?? '')) return
    const { owner } = this.#unpacking
    if (isRoot && owner) await lchown(folder.at(name), owner.uid, owner.gid)
    if (type !== 'symlink' && mode !== undefined) await chmod(folder.at(name), mode & 0o777)
  }

  async #write(part: Part, file: FileHandle): Promise<void> {
    await using _closed = file
    this.done.files += 1
    for await (const chunk of part) {
      this.done.bytes += chunk.length
      if (this.done.bytes > (this.#unpacking.maxBytes ?? Number.POSITIVE_INFINITY))
        throw new TarRefused('The archive holds more than there is room for')
      for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at, chunk.length - at)).bytesWritten
    }
  }

  /** To a file that the archive brought before, and to nothing else. */
  async #hardLink(folder: HeldFolder, name: string, target: string): Promise<void> {
    const parts = partsOf(target)
    const last = parts.pop()
    const refused = new TarRefused(`${name} is a link to ${target}, which is no file of the archive`)
    if (last === undefined) throw refused
    let place: HeldFolder | null = await this.#root.enter('.')
    for (const part of parts) {
      const outer: HeldFolder | null = place
      place = (await outer?.enter(part)) ?? null
      await outer?.[Symbol.asyncDispose]()
    }
    if (!place) throw refused
    await using held = place
    if (!(await held.stat(last).catch(() => null))?.isFile()) throw refused
    await link(held.at(last), folder.at(name))
  }
}

function partsOf(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw new TarRefused(`${name} leads out of the volume`)
  return parts
}

async function drain(part: Part): Promise<void> {
  for await (const _rest of part) void _rest
}

/** Goes down folder by folder; a link among them ends the way. */
async function inFolder(
  folder: HeldFolder,
  names: string[],
  owner: Unpacking['owner'],
  work: (folder: HeldFolder) => Promise<void>,
): Promise<void> {
  const [name, ...rest] = names
  if (name === undefined) return work(folder)
  const isNew = (await folder.stat(name).catch(() => null)) === null
  await using inner = await folder.make(name)
  if (isNew && isRoot && owner) await lchown(folder.at(name), owner.uid, owner.gid)
  if (isNew) await chmod(inner.path, 0o755)
  await inFolder(inner, rest, owner, work)
}
