import type { Stats } from 'node:fs'
import { chmod, lchown, lstat, mkdir, readlink, rename } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pack } from 'tar-stream'
import { HeldFolder } from '../../folder/held-folder.ts'
import { unpackTar } from '../../folder/unpack-tar.ts'
import { removeTree } from './remove-tree.ts'

type Archive = ReturnType<typeof pack>
type Header = Parameters<Archive['entry']>[0]

/** A folder as a tar stream, with owners and modes, in a stable order. Whoever changes it meanwhile leads us nowhere else. */
export async function* tarOf(folder: string, abort: AbortSignal): AsyncGenerator<Uint8Array> {
  const archive = pack()
  const filled = fillFrom(archive, folder, abort).then(
    () => archive.finalize(),
    (error: unknown) => archive.destroy(error as Error),
  )
  for await (const chunk of archive) yield chunk as Uint8Array
  await filled
}

async function fillFrom(archive: Archive, path: string, abort: AbortSignal): Promise<void> {
  await using folder = await HeldFolder.open(path)
  if (!folder) throw new Error(`${path} is not a folder`)
  await fill(archive, folder, '', abort)
}

async function fill(archive: Archive, folder: HeldFolder, prefix: string, abort: AbortSignal): Promise<void> {
  for (const name of (await folder.names()).map(String).sort()) {
    abort.throwIfAborted()
    const stat = await folder.stat(name).catch(() => null)
    if (stat) await add(archive, folder, name, stat, `${prefix}${name}`, abort)
  }
}

async function add(archive: Archive, folder: HeldFolder, name: string, stat: Stats, path: string, abort: AbortSignal) {
  const header = { name: path, mode: stat.mode & 0o7777, uid: stat.uid, gid: stat.gid, mtime: stat.mtime }
  if (stat.isDirectory()) {
    await using inner = await folder.enter(name)
    if (!inner) return
    await entry(archive, { ...header, type: 'directory' })
    await fill(archive, inner, `${path}/`, abort)
  } else if (stat.isSymbolicLink()) {
    const linkname = await readlink(folder.at(name)).catch(() => null)
    if (linkname !== null) await entry(archive, { ...header, type: 'symlink', linkname })
  } else if (stat.isFile()) {
    const file = await folder.file(name)
    if (!file) return
    // A file that is being written may grow: what the header promises is what is read.
    const { size } = await file.stat()
    const content = size > 0 ? file.createReadStream({ start: 0, end: size - 1 }) : Readable.from([])
    await pipeline(content, archive.entry({ ...header, size }))
    if (size === 0) await file.close()
  }
}

const entry = (archive: Archive, header: Header) =>
  new Promise<void>((resolve, reject) => archive.entry(header, (error) => (error ? reject(error) : resolve())))

export interface VolumePlaces {
  /** The volume's own folder. */
  folder: string
  /** Where it is filled; in a folder that no project reaches. */
  staging: string
  trash: string
}

/** Filled where no project comes, it takes the old one's place in one step: all of it is the new one afterwards, or the old one is there. */
export async function untarInPlaceOf(places: VolumePlaces, tar: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<void> {
  const { folder, staging, trash } = places
  const old = `${folder}.old`
  await removeTree(staging, trash)
  const { mode, uid, gid } = await lstat(folder)
  await mkdir(staging, { recursive: true, mode: 0o700 })
  try {
    await using root = await HeldFolder.open(staging)
    if (!root) throw new Error(`${staging} is not a folder`)
    // Everything in a volume is its project's, whoever an archive says.
    await unpackTar(tar, root, { owner: { uid, gid }, abort })
    await chmod(staging, mode & 0o777)
    if (isRoot) await lchown(staging, uid, gid)
  } catch (error) {
    await removeTree(staging, trash)
    throw error
  }
  await removeTree(old, trash)
  await rename(folder, old)
  await rename(staging, folder)
  await removeTree(old, trash)
}

/** After a kill between the two renames: the old one is taken back. */
export async function healVolume(folder: string): Promise<void> {
  const exists = await lstat(folder).catch(() => null)
  if (!exists) await rename(`${folder}.old`, folder).catch(() => undefined)
}

const isRoot = process.getuid?.() === 0
