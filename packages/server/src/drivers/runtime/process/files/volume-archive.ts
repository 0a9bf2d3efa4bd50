import type { Stats } from 'node:fs'
import { chmod, type FileHandle, lchown, lstat, mkdir, readlink, rename } from 'node:fs/promises'
import { DirectoryHandle } from '../../../folder/directory-handle.ts'
import { unpackTar } from '../../../folder/unpack-tar.ts'
import { asBytes, asText, encodeHeader, paddingAfter, type TarHeader, tarEnd } from '../../../tar/tar-header.ts'
import { VolumeUnreadable } from '../../runtime-errors.ts'
import { removeTree } from './remove-tree.ts'
import { isSparse, sparseEntry, type VolumeReadOptions } from './sparse-file.ts'

const chunkBytes = 64 * 1024
/** Limit of nesting. Every folder on the path is held open, so endless nesting would use up Berth's file descriptors. */
const maxDepth = 400

/** Writes a folder as a tar stream, with owners and modes, in a stable order. Links placed meanwhile cannot lead out of the folder. */
export async function* packVolume(path: string, options: VolumeReadOptions): AsyncGenerator<Uint8Array> {
  await using folder = await DirectoryHandle.open(path)
  if (!folder) throw new Error(`${path} is not a folder`)
  yield* contentOf(folder, '', options)
  yield tarEnd
}

/** Reads names as bytes, one per character: a name need not be valid text, and none may be skipped. */
async function* contentOf(folder: DirectoryHandle, prefix: string, options: VolumeReadOptions): AsyncGenerator<Uint8Array> {
  const names = (await folder.names()).map((name) => name.toString('latin1')).sort()
  for (const name of names) {
    options.abort.throwIfAborted()
    const stat = await nullIfRemoved(folder.stat(asBytes(name)))
    if (stat) yield* entryOf(folder, asBytes(name), stat, `${prefix}${name}`, options)
  }
}

async function* entryOf(folder: DirectoryHandle, name: Buffer, stat: Stats, path: string, options: VolumeReadOptions) {
  if (path.split('/').length > maxDepth)
    throw new VolumeUnreadable(
      `A volume has folders more than ${maxDepth} deep, which cannot be read: ${asText(path).slice(0, 80)}…`,
    )
  const { uid, gid, mtime } = stat
  const header = { name: path, mode: stat.mode & 0o7777, uid, gid, mtime, size: 0, linkname: '' }
  if (stat.isDirectory()) {
    await using inner = await folder.enter(name)
    if (!inner) return
    yield encodeHeader({ ...header, type: 'directory' })
    yield* contentOf(inner, `${path}/`, options)
  } else if (stat.isSymbolicLink()) {
    const target = await nullIfRemoved(readlink(folder.at(name), { encoding: 'buffer' }))
    if (target) yield encodeHeader({ ...header, type: 'symlink', linkname: target.toString('latin1') })
  } else if (stat.isFile()) {
    const file = await folder.file(name)
    if (!file) return
    await using _closed = file
    const openStat = await file.stat()
    if (isSparse(openStat)) {
      // Until a file system has allocated a new file's blocks, GNU tar would read the file as one hole.
      await file.sync()
      return yield* sparseContent(file, header, path, options)
    }
    // A file that is being written may grow. Reads exactly the size in the header.
    const { size } = openStat
    yield encodeHeader({ ...header, type: 'file', size })
    yield* bytesOf(file, size, path, options.abort)
    yield paddingAfter(size)
  }
}

async function* sparseContent(file: FileHandle, header: Omit<TarHeader, 'type'>, path: string, options: VolumeReadOptions) {
  for await (const { header: found, content } of sparseEntry(file.fd, options)) {
    const { size, sparse } = found
    yield encodeHeader({ ...header, type: 'file', size, ...(sparse ? { sparse } : {}) })
    yield* content
    yield paddingAfter(size)
    return
  }
  throw new VolumeUnreadable(`${asText(path)} could not be read`)
}

async function* bytesOf(file: FileHandle, size: number, path: string, abort: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; ) {
    abort.throwIfAborted()
    const buffer = Buffer.allocUnsafeSlow(Math.min(chunkBytes, size - at))
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
    if (bytesRead === 0) throw new Error(`${asText(path)} became shorter while it was read`)
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Null for an entry that was removed or replaced while the volume is read. Other errors are thrown. */
const nullIfRemoved = <Result>(call: Promise<Result>): Promise<Result | null> =>
  call.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'EINVAL') return null
    throw error
  })

export interface VolumePaths {
  /** Folder of the volume. */
  folder: string
  /** Folder in which the new content is unpacked. No project can access it. */
  staging: string
  trash: string
}

/** Replaces the content of a volume. Unpacks where no project has access, then swaps the folders: a failure leaves the old content. */
export async function replaceVolumeContent(
  paths: VolumePaths,
  tar: AsyncIterable<Uint8Array>,
  abort: AbortSignal,
): Promise<void> {
  const { folder, staging, trash } = paths
  const oldFolder = `${folder}.old`
  await removeTree(staging, trash)
  const { mode, uid, gid } = await lstat(folder)
  await mkdir(staging, { recursive: true, mode: 0o700 })
  try {
    await using root = await DirectoryHandle.open(staging)
    if (!root) throw new Error(`${staging} is not a folder`)
    // Every file in a volume belongs to its project, even if the archive names another owner.
    await unpackTar(tar, root, { owner: { uid, gid }, abort })
    await chmod(staging, mode & 0o777)
    if (isRoot) await lchown(staging, uid, gid)
  } catch (error) {
    await removeTree(staging, trash)
    throw error
  }
  await removeTree(oldFolder, trash)
  await rename(folder, oldFolder)
  await rename(staging, folder)
  await removeTree(oldFolder, trash)
}

/** Restores the old folder if the control plane was killed between the two renames. */
export async function restoreInterruptedSwap(folder: string): Promise<void> {
  const exists = await lstat(folder).catch(() => null)
  if (!exists) await rename(`${folder}.old`, folder).catch(() => undefined)
}

const isRoot = process.getuid?.() === 0
