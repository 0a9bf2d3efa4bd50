import { setImmediate } from 'node:timers/promises'
import type { TarType } from '../tar/tar-header.ts'
import { BadArchive, BadEntry } from './tarball-errors.ts'

/** An untrusted tar header; its names are text. */
export interface EntryHeader {
  name: string
  type: TarType
  size: number
  mode: number
  linkname: string
  isSparse?: true
}

/** An entry that may be written: its path is relative, and every folder above it is a real folder of the archive. */
export type CheckedEntry = EntryLocation &
  ({ kind: 'folder' } | CheckedFile | { kind: 'symlink'; target: string } | { kind: 'hardlink'; target: string })

interface EntryLocation {
  path: string
  /** Folders above the path that no earlier entry has created, outermost first. */
  newFolders: string[]
}

interface CheckedFile {
  kind: 'file'
  executable: boolean
  /** The archive contains an earlier file of that name, which this one replaces. */
  replaces: boolean
}

const maxNameBytes = 255
const maxPathBytes = 2_000
/** Limit of resolution steps, enough for any real project. Symlinks through many other symlinks are an attack on CPU time. */
const maxLinkSteps = 2_000_000
/** Steps between two yields to the event loop, some milliseconds. */
const stepsBetweenYields = 10_000
/** Linux has the same limit. */
const maxLinkChain = 40

interface Link {
  target: string
}

/**
 * The paths that the archive has created so far. It decides by the archive's content alone, so inspecting and unpacking agree.
 */
export class ArchiveTree {
  readonly #entries = new Map<string, 'file' | 'folder' | Link>()
  readonly #topNames = new Set<string>()
  #linkSteps = 0
  #linkReachesTop = false

  /** Null for an entry that names the root folder itself. Throws `BadEntry`. */
  add(header: EntryHeader): CheckedEntry | null {
    const path = safePath(header.name, header.name)
    const kind = kindOf(header)
    if (path === '') {
      if (kind === 'folder') return null
      throw new BadEntry(header.name, 'has no name')
    }
    const newFolders = this.#enterFolders(path)
    this.#topNames.add(path.split('/', 1)[0]!)
    const location = { path, newFolders }
    if (kind === 'folder') return this.#addFolder(location)
    if (kind === 'file') return this.#addFile(location, header)
    return kind === 'symlink' ? this.#addSymlink(location, header) : this.#addHardlink(location, header)
  }

  /** Symlinks are checked when all entries are known: a later entry can change the target of an earlier one. */
  async checkLinks(): Promise<void> {
    let pauseAt = stepsBetweenYields
    for (const [path, entry] of this.#entries) {
      if (typeof entry === 'object' && this.#leavesFolder(path, entry))
        throw new BadEntry(path, `links out of the folder, to ${entry.target}`)
      if (this.#linkSteps < pauseAt) continue
      // Yields to the event loop: an archive may contain any number of symlinks.
      await setImmediate()
      pauseAt = this.#linkSteps + stepsBetweenYields
    }
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0
  }

  /** The single top-level folder that contains everything, if no symlink leaves it: it can be taken as the root. */
  get commonRoot(): string | null {
    if (this.#linkReachesTop) return null
    const [only, second] = this.#topNames
    return only !== undefined && second === undefined && this.#entries.get(only) === 'folder' ? only : null
  }

  #enterFolders(path: string): string[] {
    const newFolders: string[] = []
    for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
      const folder = path.slice(0, end)
      const entry = this.#entries.get(folder)
      if (entry === undefined) newFolders.push(folder)
      else if (entry === 'file') throw new BadEntry(path, `lies below ${folder}, which is a file`)
      else if (entry !== 'folder') throw new BadEntry(path, `would be written through the link ${folder}`)
    }
    for (const folder of newFolders) this.#entries.set(folder, 'folder')
    return newFolders
  }

  #addFolder(location: EntryLocation): CheckedEntry {
    const existing = this.#entries.get(location.path)
    if (existing === 'folder') return { ...location, kind: 'folder' }
    this.#refuseDuplicate(location.path)
    this.#entries.set(location.path, 'folder')
    return { path: location.path, newFolders: [...location.newFolders, location.path], kind: 'folder' }
  }

  #addFile(location: EntryLocation, header: EntryHeader): CheckedEntry {
    const replaces = this.#entries.get(location.path) === 'file'
    if (!replaces) this.#refuseDuplicate(location.path)
    this.#entries.set(location.path, 'file')
    // Only the executable bit is kept: never set-user-id, nor a mode that its owner cannot read.
    return { ...location, kind: 'file', executable: (header.mode & 0o111) !== 0, replaces }
  }

  #addSymlink(location: EntryLocation, header: EntryHeader): CheckedEntry {
    const target = header.linkname
    if (target === '' || target.includes('\0') || Buffer.byteLength(target) > maxPathBytes) {
      throw new BadEntry(header.name, 'is a link without a usable target')
    }
    if (target.startsWith('/')) throw new BadEntry(header.name, `links out of the folder, to ${target}`)
    this.#refuseDuplicate(location.path)
    this.#entries.set(location.path, { target })
    return { ...location, kind: 'symlink', target }
  }

  #addHardlink(location: EntryLocation, header: EntryHeader): CheckedEntry {
    const target = safePath(header.linkname, header.name)
    if (this.#entries.get(target) !== 'file')
      throw new BadEntry(header.name, `links to ${target}, which is not a file in the archive`)
    this.#refuseDuplicate(location.path)
    this.#entries.set(location.path, 'file')
    return { ...location, kind: 'hardlink', target }
  }

  #refuseDuplicate(path: string): void {
    if (this.#entries.has(path)) throw new BadEntry(path, 'is in the archive twice, with different types')
  }

  /**
   * Resolves the symlink as the system would, through other symlinks of the archive. A dangling or circular one does not leave
   * the folder.
   */
  #leavesFolder(path: string, link: Link): boolean {
    let folder = folderOf(path)
    const remainingParts = partsBackwards(link.target)
    for (let links = 1; remainingParts.length > 0; ) {
      this.#linkSteps += 1
      if (this.#linkSteps > maxLinkSteps) throw new BadArchive('has a symlink that passes through too many other symlinks')
      const part = remainingParts.pop()!
      if (part === '..') {
        if (folder === '') return true
        folder = folderOf(folder)
        if (folder === '') this.#linkReachesTop = true
        continue
      }
      const next = folder === '' ? part : `${folder}/${part}`
      const entry = this.#entries.get(next)
      if (typeof entry !== 'object') {
        folder = next
        continue
      }
      links += 1
      if (links > maxLinkChain) return false
      remainingParts.push(...partsBackwards(entry.target))
    }
    return false
  }
}

function kindOf(header: EntryHeader): 'file' | 'folder' | 'symlink' | 'hardlink' {
  const { type, name, isSparse } = header
  if (isSparse) throw new BadEntry(name, 'is stored as a sparse file')
  // Old archives mark a folder by a trailing slash alone.
  if (type === 'directory' || (type === 'file' && name.endsWith('/'))) return 'folder'
  if (type === 'file' || type === 'contiguous-file') return 'file'
  if (type === 'symlink') return 'symlink'
  if (type === 'link') return 'hardlink'
  const what = type === 'fifo' ? 'a named pipe' : type.endsWith('-device') ? 'a device' : 'neither a file, a folder nor a link'
  throw new BadEntry(name, `is ${what}`)
}

/** The path without empty parts; '' for the root folder itself. */
function safePath(name: string, entry: string): string {
  if (name.includes('\0')) throw new BadEntry(entry, 'has a NUL in its name')
  if (name.includes('\uFFFD')) throw new BadEntry(entry, 'has a name that is not UTF-8')
  if (name.startsWith('/')) throw new BadEntry(entry, 'has an absolute path')
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw new BadEntry(entry, 'has `..` in its path')
  const path = parts.join('/')
  if (Buffer.byteLength(path) > maxPathBytes || parts.some((part) => Buffer.byteLength(part) > maxNameBytes)) {
    throw new BadEntry(entry, 'has a name that is too long')
  }
  return path
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

function partsBackwards(target: string): string[] {
  return target
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .reverse()
}
