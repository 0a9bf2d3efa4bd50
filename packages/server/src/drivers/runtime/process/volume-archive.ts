import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, lchown, lstat, mkdir, readdir, readlink, rename, rm, symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract, pack } from 'tar-stream'

/** A folder as a tar stream, with owners and modes, in a stable order. */
export async function* tarOf(folder: string, abort: AbortSignal): AsyncGenerator<Uint8Array> {
  const archive = pack()
  const filled = fill(archive, folder, folder, abort).then(
    () => archive.finalize(),
    (error: unknown) => archive.destroy(error as Error),
  )
  for await (const chunk of archive) yield chunk as Uint8Array
  await filled
}

async function fill(archive: ReturnType<typeof pack>, root: string, folder: string, abort: AbortSignal): Promise<void> {
  for (const name of (await readdir(folder)).sort()) {
    abort.throwIfAborted()
    const path = join(folder, name)
    const stat = await lstat(path)
    const header = { name: relative(root, path), mode: stat.mode & 0o7777, uid: stat.uid, gid: stat.gid, mtime: stat.mtime }
    if (stat.isDirectory()) {
      await entry(archive, { ...header, type: 'directory' })
      await fill(archive, root, path, abort)
    } else if (stat.isSymbolicLink()) await entry(archive, { ...header, type: 'symlink', linkname: await readlink(path) })
    else if (stat.isFile()) {
      // A file that is being written may grow: what the header promised is what is read.
      const content = stat.size > 0 ? createReadStream(path, { end: stat.size - 1 }) : Readable.from([])
      await pipeline(content, archive.entry({ ...header, size: stat.size }))
    }
  }
}

const entry = (archive: ReturnType<typeof pack>, header: Parameters<typeof archive.entry>[0]) =>
  new Promise<void>((resolve, reject) => archive.entry(header, (error) => (error ? reject(error) : resolve())))

/** Fills `folder` beside itself and takes its place in one step: all of it is the new one afterwards, or the old one is there. */
export async function untarInPlaceOf(folder: string, tar: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<void> {
  const [fresh, old] = [`${folder}.new`, `${folder}.old`]
  await rm(fresh, { recursive: true, force: true })
  await mkdir(fresh, { recursive: true })
  const { mode, uid, gid } = await lstat(folder)
  await chmod(fresh, mode & 0o7777)
  if (process.getuid?.() === 0) await lchown(fresh, uid, gid)
  try {
    const reader = extract()
    // Both at once: a source that fails ends the reader too, and each failure must have somebody who waits for it.
    await Promise.all([pipeline(Readable.from(tar), reader, { signal: abort }), unpackAll(reader, fresh)])
  } catch (error) {
    await rm(fresh, { recursive: true, force: true })
    throw error
  }
  await rm(old, { recursive: true, force: true })
  await rename(folder, old)
  await rename(fresh, folder)
  await rm(old, { recursive: true, force: true })
}

/** After a kill between the two renames: the old one is taken back. */
export async function healVolume(folder: string): Promise<void> {
  const exists = await lstat(folder).catch(() => null)
  if (!exists) await rename(`${folder}.old`, folder).catch(() => undefined)
}

async function unpackAll(reader: ReturnType<typeof extract>, root: string): Promise<void> {
  for await (const part of reader) await unpack(part as unknown as Part, root)
}

type Part = AsyncIterable<Uint8Array> & { header: Parameters<ReturnType<typeof pack>['entry']>[0] }

async function unpack(part: Part, root: string): Promise<void> {
  const { name, type, mode, uid, gid, linkname } = part.header
  const path = join(root, name)
  if (relative(root, path).startsWith('..')) throw new Error(`${name} leads out of the volume`)
  await mkdir(dirname(path), { recursive: true })
  if (type === 'directory') await mkdir(path, { recursive: true })
  else if (type === 'symlink') await symlink(linkname ?? '', path)
  else await pipeline(Readable.from(part), createWriteStream(path, { flags: 'wx' }))
  for await (const _rest of type === 'file' ? [] : part) void _rest
  if (process.getuid?.() === 0) await lchown(path, uid ?? 0, gid ?? 0)
  if (type !== 'symlink' && mode !== undefined) await chmod(path, mode)
}
