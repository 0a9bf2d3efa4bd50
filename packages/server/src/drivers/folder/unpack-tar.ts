import { chmod, type FileHandle, lchown, link, open, symlink } from 'node:fs/promises'
import { untilAborted } from '../shell/until-aborted.ts'
import { readTar, type TarEntry } from '../tar/read-tar.ts'
import { regularPieces, sparsePieces } from '../tar/sparse-content.ts'
import { asBytes, asText, type TarHeader } from '../tar/tar-header.ts'
import type { DirectoryHandle } from './directory-handle.ts'

const isRoot = process.getuid?.() === 0

export interface UnpackOptions {
  /** Owner of all unpacked files, regardless of the archive, if this process is root; null: this process's user. */
  owner: { uid: number; gid: number } | null
  /** Limit of all files together; exceeding it ends the unpacking. */
  maxBytes?: number
  maxEntries?: number
  abort: AbortSignal
}

export interface Unpacked {
  files: number
  bytes: number
  /** Number of devices, pipes and other types that were left out. */
  leftOut: number
}

/** The archive was refused; the caller must remove what was written by then. */
export class TarRefused extends Error {
  override readonly name = 'TarRefused'
}

/**
 * Unpacks an untrusted archive into a folder. Each name is entered folder by folder from the root and no symlink is followed,
 * so nothing is written outside; symlinks are created as they are. Set-user-id bits and devices are never unpacked.
 */
export async function unpackTar(
  tar: AsyncIterable<Uint8Array>,
  root: DirectoryHandle,
  unpacking: UnpackOptions,
): Promise<Unpacked> {
  await using work = new Unpacker(root, unpacking)
  for await (const entry of readTar(untilAborted(tar, unpacking.abort))) await work.unpack(entry)
  unpacking.abort.throwIfAborted()
  return work.done
}

const kinds = new Set(['directory', 'symlink', 'link', 'file', 'contiguous-file'])

class Unpacker implements AsyncDisposable {
  readonly done: Unpacked = { files: 0, bytes: 0, leftOut: 0 }
  readonly #root: DirectoryHandle
  readonly #unpacking: UnpackOptions
  /** The folder of the last entry: the next one is mostly in the same. */
  #lastFolder: { path: string; folder: DirectoryHandle } | undefined
  #entries = 0

  constructor(root: DirectoryHandle, unpacking: UnpackOptions) {
    this.#root = root
    this.#unpacking = unpacking
  }

  async unpack({ header, content }: TarEntry): Promise<void> {
    const { name, type, size } = header
    this.#entries += 1
    if (this.#entries > (this.#unpacking.maxEntries ?? Number.POSITIVE_INFINITY))
      throw new TarRefused(`The archive has more than ${this.#unpacking.maxEntries} entries`)
    // Tar readers disagree on whether content follows.
    if (type === 'directory' && size > 0) throw new TarRefused(`${asText(name)} is a folder with a non-zero size`)
    const parts = partsOf(name)
    const last = parts.pop()
    if (last === undefined) return
    if (!kinds.has(type)) this.done.leftOut += 1
    else await this.#create(header, content, await this.#folder(parts), asBytes(last))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lastFolder?.folder[Symbol.asyncDispose]()
    this.#lastFolder = undefined
  }

  async #create(header: TarHeader, content: TarEntry['content'], folder: DirectoryHandle, name: Buffer): Promise<void> {
    const { type, mode, linkname } = header
    if (type === 'link') return this.#hardLink(folder, name, linkname)
    if (type === 'directory') await (await folder.make(name))[Symbol.asyncDispose]()
    else if (type === 'symlink') await symlink(asBytes(linkname), folder.at(name))
    else return this.#write(header, content, await open(folder.at(name), 'wx', 0o600))
    const { owner } = this.#unpacking
    if (isRoot && owner) await lchown(folder.at(name), owner.uid, owner.gid)
    if (type === 'directory') await chmod(folder.at(name), mode & 0o777)
  }

  async #write({ mode, sparse }: TarHeader, content: TarEntry['content'], file: FileHandle): Promise<void> {
    await using _closed = file
    this.done.files += 1
    for await (const { at, bytes } of sparse ? sparsePieces(content, sparse.realSize) : regularPieces(content)) {
      this.done.bytes += bytes.length
      if (this.done.bytes > (this.#unpacking.maxBytes ?? Number.POSITIVE_INFINITY))
        throw new TarRefused('The archive exceeds the disk limit')
      for (let done = 0; done < bytes.length; )
        done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten
    }
    // Holes are preserved, also at the end of the file.
    if (sparse) await file.truncate(sparse.realSize)
    const { owner } = this.#unpacking
    if (isRoot && owner) await file.chown(owner.uid, owner.gid)
    await file.chmod(mode & 0o777)
  }

  /** Links only to a file that the archive contained earlier. */
  async #hardLink(folder: DirectoryHandle, name: Buffer, target: string): Promise<void> {
    const parts = partsOf(target)
    const last = parts.pop()
    const refused = new TarRefused(`${name} is a link to ${asText(target)}, which is not a file in the archive`)
    if (last === undefined) throw refused
    let targetFolder: DirectoryHandle | null = await this.#root.enter('.')
    for (const part of parts) {
      const outer: DirectoryHandle | null = targetFolder
      targetFolder = (await outer?.enter(asBytes(part))) ?? null
      await outer?.[Symbol.asyncDispose]()
    }
    if (!targetFolder) throw refused
    await using held = targetFolder
    if (!(await held.stat(asBytes(last)).catch(() => null))?.isFile()) throw refused
    await link(held.at(asBytes(last)), folder.at(name))
  }

  /** Enters folder by folder; a symlink among them is an error. */
  async #folder(parts: string[]): Promise<DirectoryHandle> {
    const path = parts.join('/')
    if (path === '') return this.#root
    if (this.#lastFolder?.path === path) return this.#lastFolder.folder
    await this[Symbol.asyncDispose]()
    let folder = this.#root
    for (const part of parts) {
      const outer = folder
      try {
        folder = await this.#enter(outer, asBytes(part))
      } finally {
        if (outer !== this.#root) await outer[Symbol.asyncDispose]()
      }
    }
    this.#lastFolder = { path, folder }
    return folder
  }

  async #enter(outer: DirectoryHandle, name: Buffer): Promise<DirectoryHandle> {
    const isNew = (await outer.stat(name).catch(() => null)) === null
    const inner = await outer.make(name)
    const { owner } = this.#unpacking
    if (isNew && isRoot && owner) await lchown(outer.at(name), owner.uid, owner.gid)
    if (isNew) await chmod(inner.path, 0o755)
    return inner
  }
}

function partsOf(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw new TarRefused(`${asText(name)} points outside the target folder`)
  return parts
}
