import type { Hmac } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Pack, pack } from 'tar-stream'

/** Made anew by every build, or of no use to one. */
const left = new Set(['.git', 'node_modules', '.venv', '__pycache__', '.DS_Store'])

export const isLeftOut = (path: string) => path.split('/').some((name) => left.has(name))

/** Everything below a folder that is a file, a folder or a link, in a stable order. Links are entries, and never followed. */
export async function listSource(
  folder: string,
  isIgnored: (path: string, isFolder: boolean) => boolean | 'look-inside',
): Promise<{ path: string; type: 'file' | 'directory' | 'symlink' }[]> {
  const found: { path: string; type: 'file' | 'directory' | 'symlink' }[] = []
  const walk = async (below: string) => {
    const entries = await readdir(join(folder, below), { withFileTypes: true })
    for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const path = below ? `${below}/${entry.name}` : entry.name
      const ignored = isIgnored(path, entry.isDirectory())
      if (ignored === true) continue
      if (entry.isDirectory()) {
        if (ignored === false) found.push({ path, type: 'directory' })
        await walk(path)
      } else if (ignored === false && entry.isSymbolicLink()) found.push({ path, type: 'symlink' })
      else if (ignored === false && entry.isFile()) found.push({ path, type: 'file' })
    }
  }
  await walk('')
  return found
}

export interface PackOptions {
  folder: string
  entries: readonly { path: string; type: 'file' | 'directory' | 'symlink' }[]
  /** Before each name, such as `app/`; folders named here are made first. */
  prefix: string
  makeFirst: readonly string[]
  uid: number
  more?: ReadonlyMap<string, string>
  /** Files from elsewhere, by the names that they have in the tar. */
  files?: ReadonlyMap<string, string>
}

/** The entries as a tar stream that reads each file when its turn comes. */
export function packSource({ folder, entries, prefix, makeFirst, uid, more, files }: PackOptions, abort: AbortSignal): Readable {
  const archive = pack()
  const fill = async () => {
    for (const name of makeFirst) await plain(archive, { name, type: 'directory', mode: 0o755, uid, gid: uid })
    for (const entry of entries) {
      abort.throwIfAborted()
      await packEntry(archive, join(folder, entry.path), prefix + entry.path, uid)
    }
    for (const [name, file] of files ?? []) await packEntry(archive, file, prefix + name, uid)
    for (const [name, text] of more ?? [])
      await new Promise<void>((resolve, reject) =>
        archive.entry({ name: prefix + name, uid, gid: uid }, text, (error) => (error ? reject(error) : resolve())),
      )
    archive.finalize()
  }
  fill().catch((error: unknown) => archive.destroy(error as Error))
  return Readable.from(archive)
}

/** A file that has become a link or a pipe since it was looked at is not followed, nor waited for. */
const asItIs = (constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK) as unknown as string

async function packEntry(archive: Pack, file: string, name: string, uid: number): Promise<void> {
  const stat = await lstat(file)
  const header = { name, mode: stat.mode & 0o777, mtime: stat.mtime, uid, gid: uid }
  if (stat.isDirectory()) await plain(archive, { ...header, type: 'directory', mode: header.mode | 0o700 })
  else if (stat.isSymbolicLink()) await plain(archive, { ...header, type: 'symlink', linkname: await readlink(file) })
  else if (stat.isFile()) {
    // What the header promised is what is read, should the file grow.
    const content = stat.size > 0 ? createReadStream(file, { end: stat.size - 1, flags: asItIs }) : Readable.from([])
    await pipeline(content, archive.entry({ ...header, size: stat.size }))
  }
}

const plain = (archive: Pack, header: Parameters<Pack['entry']>[0]) =>
  new Promise<void>((resolve, reject) => archive.entry(header, (error) => (error ? reject(error) : resolve())))

/** Of names and bytes; times do not count, for a fetched source has new ones each time. */
export async function hashFiles(folder: string, paths: readonly string[], hash: Hmac): Promise<Hmac> {
  for (const path of paths) {
    const content = await readFile(join(folder, path))
    hash.update(`${path}\0${content.length}\0`).update(content)
  }
  return hash
}
