import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { basename, join, posix, relative } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { below, type Inventory, type InventoryLimits, takeInventory } from './inventory.ts'
import { stripComments, stripTrailingCommas } from './source-text.ts'

const maxBytes = 1024 ** 2
const headBytes = 4096

/** What all views of one project share. */
interface Project {
  root: string
  inventory: Inventory
  texts: Map<string, Promise<string | null>>
  /** The files of the folders that were asked about. */
  names: Map<string, Set<string>>
  warnings: Set<string>
}

/**
 * A folder of a project that may be hostile: reads are bounded, never leave the project, and a file that is broken is
 * a warning and reads as absent.
 */
export class Folder {
  /** From the project's root, which is `''`. */
  readonly path: string
  readonly #project: Project

  constructor(path: string, project: Project) {
    this.path = path
    this.#project = project
  }

  static async open(folder: string, limits: InventoryLimits): Promise<Folder> {
    const root = await realpath(folder)
    const inventory = await takeInventory(root, limits)
    const project: Project = { root, inventory, texts: new Map(), names: new Map(), warnings: new Set() }
    if (inventory.isPartial) project.warnings.add(`only the first ${limits.maxFiles} files were looked at`)
    for (const link of inventory.leaving.slice(0, 5))
      project.warnings.add(`${link} is a link that leads out of the folder; it is not followed`)
    return new Folder('', project)
  }

  get name(): string {
    return basename(this.path || this.#project.root)
  }

  get absolutePath(): string {
    return join(this.#project.root, this.path)
  }

  get warnings(): string[] {
    return [...this.#project.warnings]
  }

  warn(message: string): void {
    this.#project.warnings.add(message)
  }

  /** The path from the project's root, for evidence and warnings. */
  full(path: string): string {
    return posix.join(this.path, path)
  }

  at(path: string): Folder {
    return new Folder(
      this.full(path)
        .replace(/^\.?\/?$/, '')
        .replace(/\/$/, ''),
      this.#project,
    )
  }

  /** This folder and those above it, up to the project's root: where a lockfile of a workspace may be. */
  get upwards(): Folder[] {
    const parts = this.path === '' ? [] : this.path.split('/')
    return Array.from(
      { length: parts.length + 1 },
      (_, up) => new Folder(parts.slice(0, parts.length - up).join('/'), this.#project),
    )
  }

  get files(): readonly string[] {
    return this.#listing?.files ?? []
  }

  get folders(): readonly string[] {
    return this.#listing?.folders ?? []
  }

  get #listing() {
    return this.#project.inventory.folders.get(this.path)
  }

  has(file: string): boolean {
    const full = this.full(file)
    const parent = posix.dirname(full)
    return this.#names(parent === '.' ? '' : parent).has(posix.basename(full))
  }

  #names(path: string): Set<string> {
    const { names, inventory } = this.#project
    const known = names.get(path) ?? new Set(inventory.folders.get(path)?.files)
    names.set(path, known)
    return known
  }

  hasFolder(path: string): boolean {
    return this.#project.inventory.folders.has(this.full(path))
  }

  /** Paths of files by a pattern with `*` in a name and `**` for any folders between, nearest and then alphabetically first. */
  find(pattern: string): string[] {
    const found: string[] = []
    this.#match(pattern.split('/'), '', found)
    return found.sort((a, b) => a.split('/').length - b.split('/').length || (a < b ? -1 : 1))
  }

  /** Folders by a pattern as `find` takes it. */
  findFolders(pattern: string): string[] {
    const found = new Set<string>()
    this.#matchFolders(pattern.split('/'), '', found)
    return [...found].sort()
  }

  /** The whole text, or `null` when there is no such file, it is too large or it cannot be read. */
  text(file: string): Promise<string | null> {
    return this.#read(file, maxBytes)
  }

  /** The first lines of a file of any size. */
  head(file: string): Promise<string | null> {
    return this.#read(file, headBytes)
  }

  /** JSON as its files are found: comments and trailing commas are let pass. */
  async json(file: string): Promise<unknown> {
    return this.#parsed(file, 'JSON', (text) => {
      try {
        return JSON.parse(text)
      } catch (error) {
        if (!/\/[/*]|,\s*[\]}]/.test(text)) throw error
        return JSON.parse(stripTrailingCommas(stripComments(text)))
      }
    })
  }

  async toml(file: string): Promise<unknown> {
    return this.#parsed(file, 'TOML', parseToml)
  }

  async #parsed(file: string, language: string, parse: (text: string) => unknown): Promise<unknown> {
    const text = await this.text(file)
    if (text === null) return null
    try {
      return parse(text)
    } catch {
      this.warn(`${this.full(file)} is not valid ${language}; it is left out`)
      return null
    }
  }

  #read(file: string, limit: number): Promise<string | null> {
    if (!this.has(file)) return Promise.resolve(null)
    const full = this.full(file)
    const key = `${limit} ${full}`
    const reading = this.#project.texts.get(key) ?? this.#readFile(full, limit)
    this.#project.texts.set(key, reading)
    return reading
  }

  async #readFile(full: string, limit: number): Promise<string | null> {
    const { root } = this.#project
    try {
      const real = await realpath(join(root, full))
      if (relative(root, real).startsWith('..')) return null
      // Neither a link put there since nor a pipe that never answers is opened.
      const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
      try {
        const info = await handle.stat()
        if (!info.isFile()) return null
        if (info.size > limit && limit === maxBytes) {
          this.warn(`${full} is larger than 1 MiB; it is left out`)
          return null
        }
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(info.size, limit)), 0)
        return new TextDecoder().decode(buffer.subarray(0, bytesRead))
      } finally {
        await handle.close()
      }
    } catch {
      this.warn(`${full} cannot be read; it is left out`)
      return null
    }
  }

  #match(segments: string[], path: string, found: string[]): void {
    const [segment, ...rest] = segments
    const folder = this.at(path)
    if (segment === undefined) return
    if (segment === '**') {
      this.#match(rest, path, found)
      for (const name of folder.folders) this.#match(segments, below(path, name), found)
    } else if (rest.length === 0) {
      const matches = nameMatcher(segment)
      for (const name of folder.files) if (matches(name)) found.push(below(path, name))
    } else {
      const matches = nameMatcher(segment)
      for (const name of folder.folders) if (matches(name)) this.#match(rest, below(path, name), found)
    }
  }

  #matchFolders(segments: string[], path: string, found: Set<string>): void {
    const [segment, ...rest] = segments
    if (segment === undefined) {
      found.add(path)
      return
    }
    if (segment === '**' || segment === '.') this.#matchFolders(rest, path, found)
    const matches = segment === '**' ? () => true : nameMatcher(segment)
    for (const name of this.at(path).folders)
      if (matches(name)) this.#matchFolders(segment === '**' ? segments : rest, below(path, name), found)
  }
}

/** One `*` or more in a name; compared piece by piece, so a hostile pattern costs no more than its length. */
function nameMatcher(pattern: string): (name: string) => boolean {
  if (!pattern.includes('*')) return (name) => name === pattern
  const [first = '', ...pieces] = pattern.split('*')
  const last = pieces.pop()!
  return (name) => {
    if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false
    let from = first.length
    for (const piece of pieces) {
      const at = name.indexOf(piece, from)
      if (at < 0) return false
      from = at + piece.length
    }
    return from <= name.length - last.length
  }
}
