import { constants, type Dirent } from 'node:fs'
import { open, readdir, readlink, realpath } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { IgnoreRules } from '../../source/ignore/git-ignore.ts'
import { readInside } from '../../source/read-inside.ts'
import { tarEnd } from '../tar/tar-header.ts'
import { fileEntry, folderEntry, SizeMismatch, symlinkEntry } from '../tar/write-tar.ts'
import { wrapperName } from './unpack-source.ts'

export interface PackOptions {
  /** Additional lines of a .berthignore at the top; they take precedence over the files. */
  ignore?: readonly string[]
  /** Lines that exclude files by default: any line of an ignore file, such as `!.env`, takes precedence. */
  ignoreByDefault?: readonly string[]
  /** Called for each file or folder that only a line of `ignoreByDefault` excludes. */
  onIgnoredByDefault?: (path: string) => void
  /** Called for entries that cannot be in an upload: symlinks out of the folder, pipes, sockets, devices. */
  onSkipped?: (path: string, reason: string) => void
  abort?: AbortSignal
}

/** A file was deleted, truncated or replaced while it was packed. */
export class ChangedWhilePacking extends Error {
  override readonly name = 'ChangedWhilePacking'

  constructor(path: string, cause?: unknown) {
    super(`${path} changed while it was being read; try again`, { cause })
  }
}

/**
 * The folder as a gzip-compressed tar, without files that .gitignore and .berthignore exclude, and without .git and
 * node_modules. The same files give the same bytes: the order is fixed, and times and owners are omitted.
 */
export async function* packFolder(folder: string, options: PackOptions = {}): AsyncGenerator<Uint8Array> {
  const tar = Readable.from(tarFolder(folder, options))
  const gzip = createGzip()
  tar.on('error', (error) => gzip.destroy(error))
  try {
    yield* tar.pipe(gzip)
  } finally {
    tar.destroy()
    gzip.destroy()
  }
}

const alwaysExcluded = new Set(['.git', 'node_modules'])
const ignoreFiles = ['.gitignore', '.berthignore']
const maxIgnoreFileLength = 4 * 1024 ** 2

interface FolderEntry {
  /** Path relative to the folder, with slashes. */
  path: string
  kind: 'file' | 'folder' | 'symlink'
}

interface Listing {
  entries: readonly FolderEntry[]
  rules: IgnoreRules
}

async function* tarFolder(folder: string, options: PackOptions): AsyncGenerator<Uint8Array> {
  const walk = new FolderWalk(folder, options)
  const top = await walk.listing('', IgnoreRules.none)
  // The server takes a single top-level folder as the root, so a project that is a single folder is wrapped in another one.
  const prefix = top.entries.length === 1 && top.entries[0]?.kind === 'folder' ? `${wrapperName}/` : ''
  for await (const found of walk.entriesOf(top)) {
    options.abort?.throwIfAborted()
    yield* entryOf(join(folder, found.path), prefix, found)
  }
  yield tarEnd
}

class FolderWalk {
  readonly #folder: string
  readonly #root: Promise<string>
  readonly #extraRules: IgnoreRules
  readonly #defaultRules: IgnoreRules
  readonly #onSkipped: (path: string, reason: string) => void
  readonly #onIgnoredByDefault: (path: string) => void

  constructor(folder: string, options: PackOptions) {
    const { ignore = [], ignoreByDefault = [], onSkipped = () => undefined, onIgnoredByDefault = () => undefined } = options
    this.#folder = folder
    this.#root = realpath(folder)
    this.#root.catch(() => undefined)
    this.#extraRules = IgnoreRules.none.with(ignore.join('\n'), '')
    this.#defaultRules = IgnoreRules.none.with(ignoreByDefault.join('\n'), '')
    this.#onSkipped = onSkipped
    this.#onIgnoredByDefault = onIgnoredByDefault
  }

  /** The entries and everything below them. */
  async *entriesOf({ entries, rules }: Listing): AsyncGenerator<FolderEntry> {
    for (const entry of entries) {
      yield entry
      if (entry.kind === 'folder') yield* this.entriesOf(await this.listing(entry.path, rules))
    }
  }

  /** The entries of one folder that are packed, and the rules that hold in it. */
  async listing(path: string, above: IgnoreRules): Promise<Listing> {
    const found = await readdir(join(this.#folder, path), { withFileTypes: true })
    const rules = await this.#rulesIn(path, found, above)
    found.sort((left, right) => (left.name < right.name ? -1 : 1))
    const entries: FolderEntry[] = []
    for (const entry of found) {
      const at = path === '' ? entry.name : `${path}/${entry.name}`
      if (alwaysExcluded.has(entry.name) || this.#isIgnored(rules, at, entry.isDirectory())) continue
      const kind = await this.#kindOf(entry, at)
      if (kind) entries.push({ path: at, kind })
    }
    return { entries, rules }
  }

  #isIgnored(rules: IgnoreRules, path: string, isFolder: boolean): boolean {
    const verdict = this.#extraRules.verdict(path, isFolder) ?? rules.verdict(path, isFolder)
    if (verdict !== null) return verdict === 'ignored'
    const isIgnored = this.#defaultRules.verdict(path, isFolder) === 'ignored'
    if (isIgnored) this.#onIgnoredByDefault(path)
    return isIgnored
  }

  async #rulesIn(path: string, entries: readonly Dirent[], above: IgnoreRules): Promise<IgnoreRules> {
    let rules = above
    for (const name of ignoreFiles) {
      if (!entries.some((entry) => entry.name === name && entry.isFile())) continue
      rules = rules.with(await this.#textOf(path, name), path)
    }
    return rules
  }

  async #textOf(path: string, name: string): Promise<string> {
    const at = join(path, name)
    const read = await readInside(await this.#root, at, { maxBytes: maxIgnoreFileLength })
    if (read.text !== null) return read.text
    if (read.why === 'too large') throw new Error(`${at} is larger than ${maxIgnoreFileLength / 1024 ** 2} MiB`)
    throw new ChangedWhilePacking(at)
  }

  async #kindOf(entry: Dirent, path: string): Promise<FolderEntry['kind'] | null> {
    if (entry.isDirectory()) return 'folder'
    if (entry.isFile()) return 'file'
    if (entry.isSymbolicLink() && !(await leavesFolder(this.#folder, path))) return 'symlink'
    this.#onSkipped(path, entry.isSymbolicLink() ? 'links out of the folder' : 'is neither a file, a folder nor a link')
    return null
  }
}

async function leavesFolder(folder: string, path: string): Promise<boolean> {
  const target = await readlink(join(folder, path))
  return target.startsWith('/') || posix.join(posix.dirname(path), target).split('/')[0] === '..'
}

/** Fixed, so that the same files give the same bytes; the server ignores times in an archive. */
const noTime = new Date(0)

async function* entryOf(file: string, prefix: string, { path, kind }: FolderEntry): AsyncGenerator<Uint8Array> {
  const name = prefix + path
  if (kind === 'folder') yield folderEntry({ name: `${name}/`, mode: 0o755, mtime: noTime })
  else if (kind === 'file') yield* fileOf(file, name, path)
  else yield symlinkEntry({ name, linkname: await readlink(file), mode: 0o777, mtime: noTime })
}

/** Flags that refuse a symlink, and do not block on a pipe, that has replaced the file since it was listed. */
const readOnlyIfFile = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

async function* fileOf(file: string, name: string, path: string): AsyncGenerator<Uint8Array> {
  const handle = await open(file, readOnlyIfFile).catch((cause) => Promise.reject(new ChangedWhilePacking(path, cause)))
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new ChangedWhilePacking(path)
    const entry = { name, size: stat.size, mode: stat.mode & 0o111 ? 0o755 : 0o644, mtime: noTime }
    const content =
      stat.size > 0 ? handle.createReadStream({ start: 0, end: stat.size - 1, autoClose: false }) : Readable.from([])
    yield* fileEntry(entry, content)
  } catch (error) {
    throw error instanceof SizeMismatch ? new ChangedWhilePacking(path, error) : error
  } finally {
    await handle.close()
  }
}
