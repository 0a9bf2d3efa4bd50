import type { Hmac } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { lstat, open, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Excluded, SourceEntry } from '../../../../source/list-source.ts'
import { FolderLimitExceeded, folderReader, type ReadContext } from '../../../reader/folder-reader.ts'
import { TooManyWaiting } from '../../../reader/reader-queue.ts'
import { tarEnd } from '../../../tar/tar-header.ts'
import { fileEntry, folderEntry, symlinkEntry, textEntry } from '../../../tar/write-tar.ts'
import type { BuildRequest } from '../../runtime.ts'
import { BuildFailed } from '../../runtime-errors.ts'

/** Refuses links and pipes that have replaced a file since it was listed. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Lists the source in a process with limits, because a folder and its `.dockerignore` rules can be of any size. */
export async function listSource(folder: string, excluded: Excluded, context: ReadContext): Promise<SourceEntry[]> {
  try {
    return await folderReader.list(folder, excluded, context)
  } catch (error) {
    if (error instanceof FolderLimitExceeded || error instanceof TooManyWaiting) throw new BuildFailed('bad_plan', error.message)
    throw error
  }
}

export const readContextOf = ({ organizationId, owner }: BuildRequest, abort: AbortSignal): ReadContext => ({
  organizationId: organizationId ?? owner.projectId,
  abort,
})

export interface PackOptions {
  folder: string
  entries: readonly SourceEntry[]
  /** Prefix of the names of `entries`, `files` and `texts` in the tar, such as `app/`. */
  prefix: string
  /** Folders that precede the entries, by their full names in the tar. */
  folders: readonly string[]
  uid: number
  /** Contents of further files, by their names without the prefix. */
  texts?: ReadonlyMap<string, string>
  /** Paths of files outside of `folder`, by their names without the prefix. */
  files?: ReadonlyMap<string, string>
}

/** Packs the entries as a tar stream. Each file is opened when its turn comes. */
export const packSource = (options: PackOptions, abort: AbortSignal): Readable => Readable.from(tarOf(options, abort))

async function* tarOf(options: PackOptions, abort: AbortSignal): AsyncGenerator<Uint8Array> {
  const { folder, entries, prefix, folders, uid, texts, files } = options
  for (const name of folders) yield folderEntry({ name, mode: 0o755, uid, gid: uid })
  for (const entry of entries) {
    abort.throwIfAborted()
    yield* entryOf(join(folder, entry.path), prefix + entry.path, uid)
  }
  for (const [name, file] of files ?? []) yield* entryOf(file, prefix + name, uid)
  for (const [name, text] of texts ?? []) yield textEntry({ name: prefix + name, mode: 0o644, uid, gid: uid }, Buffer.from(text))
  yield tarEnd
}

async function* entryOf(file: string, name: string, uid: number): AsyncGenerator<Uint8Array> {
  const stat = await lstat(file)
  const entry = { name, mode: stat.mode & 0o777, mtime: stat.mtime, uid, gid: uid }
  if (stat.isDirectory()) yield folderEntry({ ...entry, mode: entry.mode | 0o700 })
  else if (stat.isSymbolicLink()) yield symlinkEntry({ ...entry, linkname: await readlink(file) })
  else if (stat.isFile()) {
    // Exactly the size in the header, even if the file grows.
    const content =
      stat.size > 0 ? createReadStream(file, { flags: flags as unknown as string, end: stat.size - 1 }) : Readable.from([])
    yield* fileEntry({ ...entry, size: stat.size }, content)
  }
}

/** Hashes names and contents. Modification times are left out, because every checkout has new ones. */
export async function hashFiles(folder: string, paths: readonly string[], hash: Hmac): Promise<Hmac> {
  for (const path of paths) {
    const handle = await open(join(folder, path), flags)
    try {
      hash.update(`${path}\0${(await handle.stat()).size}\0`)
      for await (const chunk of handle.createReadStream({ autoClose: false })) hash.update(chunk as Buffer)
    } finally {
      await handle.close()
    }
  }
  return hash
}
