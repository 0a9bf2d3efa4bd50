import { constants } from 'node:fs'
import * as files from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { type SiteRules, siteRulesBytes, siteRulesFile } from '../../platform/site-rules/site-rules.ts'
import type { StaticTarget } from '../protocol/edge-table.ts'
import { type Encoding, suffixes } from './accept-encoding.ts'
import { compress } from './compress.ts'
import { contentType, isCompressible } from './content-types.ts'

/** A file that may be sent. */
export interface SiteFile {
  /** Links resolved, and proven to be inside the site's folder. */
  path: string
  size: number
  modifiedMs: number
  type: string
  etag: string
  /** Small files are kept in memory for a while. */
  contents: Buffer | undefined
  /** Changes with every change of the file. */
  version: string
}

const lookAgainMs = 2_000
const entriesAtMost = 4_000
const contentsAtMost = 1_048_576
const compressFrom = 1_024

interface Entry {
  file: Promise<SiteFile | undefined>
  until: number
  bytes: number
}

/** Files of all static deployments, found safely and remembered within a bound. */
export class StaticSites {
  readonly #bytesAtMost: number
  readonly #entries = new Map<string, Entry>()
  readonly #roots = new Map<string, Promise<string>>()
  readonly #rules = new Map<string, Promise<SiteRules | null>>()
  #bytes = 0

  constructor(bytesAtMost = 16_777_216) {
    this.#bytesAtMost = bytesAtMost
  }

  /** The file at a path below the folder, whatever links say never one outside it. */
  find(site: StaticTarget, path: string): Promise<SiteFile | undefined> {
    return this.#remember(`${site.folder}\0${path}`, (before) => this.#read(site, path, before))
  }

  /** The file in that encoding: a sibling made by the build, or compressed here where it is small enough. */
  async encoded(site: StaticTarget, path: string, file: SiteFile, encoding: Encoding): Promise<SiteFile | undefined> {
    if (!isCompressible(file.type)) return undefined
    const sibling = await this.find(site, path + suffixes[encoding])
    const etag = `${file.etag.slice(0, -1)}-${encoding}"`
    if (sibling) return { ...sibling, type: file.type, etag, modifiedMs: file.modifiedMs }
    const { contents } = file
    if (!contents || contents.length < compressFrom) return undefined
    return this.#remember(`${file.path}\0${etag}`, async (before) => {
      // The etag of a small file is its hash: what was made of it before is still right.
      if (before) return before
      const smaller = await compress(contents, encoding)
      return smaller && { ...file, etag, size: smaller.length, contents: smaller }
    })
  }

  /** What the site's owner says of its addresses; null where nothing is said. The folder does not change, so it is read once. */
  rules({ folder }: StaticTarget): Promise<SiteRules | null> {
    const known = this.#rules.get(folder) ?? readRules(folder)
    this.#rules.set(folder, known)
    return known
  }

  /** A new table: folders of deployments that are gone are forgotten. */
  keepOnly(folders: ReadonlySet<string>): void {
    for (const known of [this.#roots, this.#rules])
      for (const folder of known.keys()) if (!folders.has(folder)) known.delete(folder)
  }

  /** `read` gets what was known before, so that slow clients of an unchanged file all hold the same bytes. */
  #remember(key: string, read: (before: SiteFile | undefined) => Promise<SiteFile | undefined>): Promise<SiteFile | undefined> {
    const now = Date.now()
    const known = this.#entries.get(key)
    if (known && known.until > now) return known.file
    if (known) this.#forget(key, known)
    const entry: Entry = { file: known ? known.file.then(read) : read(undefined), until: now + lookAgainMs, bytes: 0 }
    this.#entries.set(key, entry)
    entry.file = entry.file.then(
      (file) => this.#weigh(key, entry, file),
      () => {
        this.#forget(key, entry)
        return undefined
      },
    )
    return entry.file
  }

  #weigh(key: string, entry: Entry, file: SiteFile | undefined): SiteFile | undefined {
    if (this.#entries.get(key) !== entry) return file
    entry.bytes = (file?.contents?.length ?? 0) + 512
    this.#bytes += entry.bytes
    for (const [oldest, other] of this.#entries) {
      if (this.#bytes <= this.#bytesAtMost && this.#entries.size <= entriesAtMost) break
      this.#forget(oldest, other)
    }
    return file
  }

  #forget(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
  }

  async #read(site: StaticTarget, path: string, before: SiteFile | undefined): Promise<SiteFile | undefined> {
    const root = await this.#root(site.folder)
    const real = await files.realpath(join(root, path)).catch(() => undefined)
    if (!real?.startsWith(root + sep)) return undefined
    // A link inside the folder may point to a hidden file; the rule holds for where it ends.
    const inside = real.slice(root.length + 1).split(sep)
    if (inside.some((part, at) => part.startsWith('.') && !(at === 0 && part === '.well-known'))) return undefined
    const handle = await files.open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined)
    if (!handle) return undefined
    try {
      const stat = await handle.stat()
      if (!stat.isFile()) return undefined
      const version = [stat.dev, stat.ino, stat.size, stat.mtimeMs, stat.ctimeMs].join(' ')
      if (before?.path === real && before.version === version) return before
      const contents = stat.size <= contentsAtMost ? await handle.readFile() : undefined
      // Times are no proof of sameness: reproducible builds give every file the same one. Small files are hashed.
      const etag = contents
        ? `"${await contentHash(contents)}"`
        : `"${site.deploymentId}-${stat.size.toString(36)}-${Math.floor(stat.mtimeMs).toString(36)}"`
      return {
        path: real,
        size: contents?.length ?? stat.size,
        modifiedMs: stat.mtimeMs,
        type: contentType(path),
        etag,
        contents,
        version,
      }
    } finally {
      await handle.close()
    }
  }

  #root(folder: string): Promise<string> {
    const known = this.#roots.get(folder)
    if (known) return known
    const root = files.realpath(folder)
    this.#roots.set(folder, root)
    root.catch(() => this.#roots.delete(folder))
    return root
  }
}

/** One that cannot be read, or is larger than what is ever written, says nothing. */
async function readRules(folder: string): Promise<SiteRules | null> {
  try {
    const file = join(dirname(folder), siteRulesFile)
    if ((await files.stat(file)).size > siteRulesBytes) return null
    return JSON.parse(await files.readFile(file, 'utf8')) as SiteRules
  } catch {
    return null
  }
}

/** Crypto is loaded with the first file: an edge without static sites does without its memory. */
async function contentHash(contents: Buffer): Promise<string> {
  const { createHash } = await import('node:crypto')
  return createHash('sha256').update(contents).digest('base64url').slice(0, 22)
}
