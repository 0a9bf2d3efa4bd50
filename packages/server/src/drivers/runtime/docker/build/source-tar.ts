import type { Hmac } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { lstat, open, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Pack, pack } from 'tar-stream'
import type { Excluded, SourceEntry } from '../../../../source/list-source.ts'
import { FolderTooMuch, folderReader, type ReadFor } from '../../../reader/folder-reader.ts'
import { TooManyWaiting } from '../../../reader/reader-queue.ts'
import { BuildFailed, type BuildRequest } from '../../runtime.ts'

/** Refuses links and pipes that have replaced a file since it was listed. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Lists the source in a process with limits, because a folder and its `.dockerignore` rules can be of any size. */
export async function listSource(folder: string, excluded: Excluded, readFor: ReadFor): Promise<SourceEntry[]> {
  try {
    return await folderReader.list(folder, excluded, readFor)
  } catch (error) {
    if (error instanceof FolderTooMuch || error instanceof TooManyWaiting) throw new BuildFailed('bad_plan', error.message)
    throw error
  }
}

export const readFor = ({ organizationId, owner }: BuildRequest, abort: AbortSignal): ReadFor => ({
  organizationId: organizationId ?? owner.projectId,
  abort,
})

export interface PackOptions {
  folder: string
  entries: readonly SourceEntry[]
  /** Prefix of each name, such as `app/`. */
  prefix: string
  folders: readonly string[]
  uid: number
  texts?: ReadonlyMap<string, string>
  /** Files outside of `folder`, by their names in the tar. */
  files?: ReadonlyMap<string, string>
}

/** Packs the entries as a tar stream. Each file is opened when its turn comes. */
export function packSource({ folder, entries, prefix, folders, uid, texts, files }: PackOptions, abort: AbortSignal): Readable {
  const archive = pack()
  const packAll = async () => {
    for (const name of folders) await addEntry(archive, { name, type: 'directory', mode: 0o755, uid, gid: uid })
    for (const entry of entries) {
      abort.throwIfAborted()
      await packEntry(archive, join(folder, entry.path), prefix + entry.path, uid)
    }
    for (const [name, file] of files ?? []) await packEntry(archive, file, prefix + name, uid)
    for (const [name, text] of texts ?? [])
      await new Promise<void>((resolve, reject) =>
        archive.entry({ name: prefix + name, uid, gid: uid }, text, (error) => (error ? reject(error) : resolve())),
      )
    archive.finalize()
  }
  packAll().catch((error: unknown) => archive.destroy(error as Error))
  return Readable.from(archive)
}

async function packEntry(archive: Pack, file: string, name: string, uid: number): Promise<void> {
  const stat = await lstat(file)
  const header = { name, mode: stat.mode & 0o777, mtime: stat.mtime, uid, gid: uid }
  if (stat.isDirectory()) await addEntry(archive, { ...header, type: 'directory', mode: header.mode | 0o700 })
  else if (stat.isSymbolicLink()) await addEntry(archive, { ...header, type: 'symlink', linkname: await readlink(file) })
  else if (stat.isFile()) {
    // Exactly the size in the header, even if the file grows.
    const content =
      stat.size > 0 ? createReadStream(file, { flags: flags as unknown as string, end: stat.size - 1 }) : Readable.from([])
    await pipeline(content, archive.entry({ ...header, size: stat.size }))
  }
}

const addEntry = (archive: Pack, header: Parameters<Pack['entry']>[0]) =>
  new Promise<void>((resolve, reject) => archive.entry(header, (error) => (error ? reject(error) : resolve())))

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
