import { realpath } from 'node:fs/promises'
import { basename, join, posix } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { parseYaml } from '../bounded-yaml.ts'
import { readInside } from '../read-inside.ts'
import { type Inventory, type InventoryLimits, listInventory } from './inventory.ts'
import { NamePattern } from './name-pattern.ts'
import { stripComments, stripTrailingCommas } from './source-text.ts'

const maxBytes = 1024 ** 2
const headBytes = 4096
const maxLockfileBytes = 8 * 1024 ** 2
/** Limit over all files: many times the manifests of a large monorepo. */
const maxBytesInAll = 48 * 1024 ** 2

/** State shared by all views of one project. */
interface Project {
  root: string
  inventory: Inventory
  texts: Map<string, Promise<string | null>>
  /** File names of the folders that were queried. */
  names: Map<string, Set<string>>
  warnings: Set<string>
  /** Cached results by key, because many rows of the table need the same result. */
  cache: Map<string, unknown>
  bytesLeft: number
}

/**
 * A folder of an untrusted project: reads are limited and never leave the project; an invalid file produces a warning and reads as
 * absent.
 */
export class Folder {
  /** Path from the project's root, which is `''`. */
  readonly path: string
  readonly #project: Project

  constructor(path: string, project: Project) {
    this.path = path
    this.#project = project
  }

  static async open(folder: string, limits: InventoryLimits): Promise<Folder> {
    const root = await realpath(folder)
    const inventory = await listInventory(root, limits)
    const project: Project = {
      root,
      inventory,
      texts: new Map(),
      names: new Map(),
      warnings: new Set(),
      cache: new Map(),
      bytesLeft: maxBytesInAll,
    }
    if (inventory.isPartial) project.warnings.add(`only the first ${limits.maxFiles} files were checked`)
    for (const link of inventory.outsideLinks.slice(0, 5))
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

  /** The folder itself and its parents up to the project's root, where a workspace's lockfile may be. */
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
    const fileNames = names.get(path) ?? new Set(inventory.folders.get(path)?.files)
    names.set(path, fileNames)
    return fileNames
  }

  hasFolder(path: string): boolean {
    return this.#project.inventory.folders.has(this.full(path))
  }

  /** Paths of files that match a pattern with `*` in a name and `**` for any folders; nearest first, then alphabetical. */
  find(pattern: string): string[] {
    return new NamePattern(pattern)
      .files(this.path, this.#project.inventory)
      .map((path) => ({ path, depth: path.split('/').length }))
      .sort((a, b) => a.depth - b.depth || (a.path < b.path ? -1 : 1))
      .map(({ path }) => path)
  }

  /** Folders that match such a pattern. */
  findFolders(pattern: string): string[] {
    return new NamePattern(pattern).folders(this.path, this.#project.inventory).sort()
  }

  /** The cached result of `make` for this folder and key. */
  once<Result>(key: string, make: () => Result): Result {
    const cacheKey = `${key} ${this.path}`
    const { cache } = this.#project
    if (!cache.has(cacheKey)) cache.set(cacheKey, make())
    return cache.get(cacheKey) as Result
  }

  /** The whole text; `null` when the file is missing, too large or unreadable. */
  text(file: string): Promise<string | null> {
    return this.#read(file, maxBytes)
  }

  /** The first bytes of a file of any size. */
  head(file: string): Promise<string | null> {
    return this.#read(file, headBytes)
  }

  /** The text of a lockfile, which may be larger than other files; `null` without a warning when it is larger still. */
  lockfile(file: string): Promise<string | null> {
    return this.#read(file, maxLockfileBytes)
  }

  /** JSON that may contain comments and trailing commas. */
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

  async yaml(file: string): Promise<unknown> {
    return this.#parsed(file, 'YAML', parseYaml)
  }

  async #parsed(file: string, language: string, parse: (text: string) => unknown): Promise<unknown> {
    const text = await this.text(file)
    if (text === null) return null
    return this.once(`${language} ${file}`, () => {
      try {
        return parse(text)
      } catch {
        this.warn(`${this.full(file)} is not valid ${language}; it is ignored`)
        return null
      }
    })
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
    const isStart = limit === headBytes
    const read = await readInside(this.#project.root, full, {
      maxBytes: limit,
      onlyStart: isStart,
      reserveBytes: (bytes) => {
        this.#project.bytesLeft -= bytes
        return this.#project.bytesLeft >= 0
      },
    })
    if (read.text !== null) return read.text
    if (this.#project.bytesLeft < 0)
      this.warn(`the files are larger than ${maxBytesInAll / 1024 ** 2} MiB together; not all were read`)
    else if (read.why === 'too large' && limit > maxBytes) return null
    else if (read.why === 'too large') this.warn(`${full} is larger than 1 MiB; it is ignored`)
    else this.warn(`${full} cannot be read; it is ignored`)
    return null
  }
}
