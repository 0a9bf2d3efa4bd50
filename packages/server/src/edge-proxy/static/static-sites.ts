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
  /** Symlinks resolved, and verified to be inside the site's folder. */
  path: string
  size: number
  modifiedMs: number
  type: string
  etag: string
  /** Small files are cached in memory for a while. */
  contents: Buffer | undefined
  /** Changes with every change of the file. */
  version: string
}

const cacheTtlMs = 2_000
const maxEntries = 4_000
const maxContents = 1_048_576
const compressFrom = 1_024

interface Entry {
  file: Promise<SiteFile | undefined>
  until: number
  bytes: number
}

/** Files of all static deployments, looked up safely and cached within a limit. */
export class StaticSites {
  readonly #maxBytes: number
  readonly #entries = new Map<string, Entry>()
  readonly #roots = new Map<string, Promise<string>>()
  readonly #rules = new Map<string, Promise<SiteRules | null>>()
  #bytes = 0

  constructor(maxBytes = 16_777_216) {
    this.#maxBytes = maxBytes
  }

  /** The file at a path below the folder; symlinks never lead to a file outside it. */
  find(site: StaticTarget, path: string): Promise<SiteFile | undefined> {
    return this.#remember(`${site.folder}\0${path}`, (before) => this.#read(site, path, before))
  }

  /** The file in that encoding: a sibling created by the build, or compressed here if it is small enough. */
  async encoded(site: StaticTarget, path: string, file: SiteFile, encoding: Encoding): Promise<SiteFile | undefined> {
    if (!isCompressible(file.type)) return undefined
    const sibling = await this.find(site, path + suffixes[encoding])
    const etag = `${file.etag.slice(0, -1)}-${encoding}"`
    if (sibling) return { ...sibling, type: file.type, etag, modifiedMs: file.modifiedMs }
    const { contents } = file
    if (!contents || contents.length < compressFrom) return undefined
    return this.#remember(`${file.path}\0${etag}`, async (before) => {
      // The etag of a small file is its hash: the compressed copy is still valid.
      if (before) return before
      const smaller = await compress(contents, encoding)
      return smaller && { ...file, etag, size: smaller.length, contents: smaller }
    })
  }

  /** The redirects and headers of the site; null if there are none. The folder does not change, so the file is read once. */
  rules({ folder }: StaticTarget): Promise<SiteRules | null> {
    const known = this.#rules.get(folder) ?? readRules(folder)
    this.#rules.set(folder, known)
    return known
  }

  /** Called with a new table: forgets folders of removed deployments. */
  keepOnly(folders: ReadonlySet<string>): void {
    for (const known of [this.#roots, this.#rules])
      for (const folder of known.keys()) if (!folders.has(folder)) known.delete(folder)
  }

  /** `read` receives the previous entry, so that slow clients of an unchanged file share the same buffer. */
  #remember(key: string, read: (before: SiteFile | undefined) => Promise<SiteFile | undefined>): Promise<SiteFile | undefined> {
    const now = Date.now()
    const known = this.#entries.get(key)
    if (known && known.until > now) return known.file
    if (known) this.#forget(key, known)
    const entry: Entry = { file: known ? known.file.then(read) : read(undefined), until: now + cacheTtlMs, bytes: 0 }
    this.#entries.set(key, entry)
    entry.file = entry.file.then(
      (file) => this.#accountAndEvict(key, entry, file),
      () => {
        this.#forget(key, entry)
        return undefined
      },
    )
    return entry.file
  }

  #accountAndEvict(key: string, entry: Entry, file: SiteFile | undefined): SiteFile | undefined {
    if (this.#entries.get(key) !== entry) return file
    entry.bytes = (file?.contents?.length ?? 0) + 512
    this.#bytes += entry.bytes
    for (const [oldest, other] of this.#entries) {
      if (this.#bytes <= this.#maxBytes && this.#entries.size <= maxEntries) break
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
    // A symlink inside the folder may point to a hidden file; the rule applies to its target.
    const inside = real.slice(root.length + 1).split(sep)
    if (inside.some((part, at) => part.startsWith('.') && !(at === 0 && part === '.well-known'))) return undefined
    const handle = await files.open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined)
    if (!handle) return undefined
    try {
      const stat = await handle.stat()
      if (!stat.isFile()) return undefined
      const version = [stat.dev, stat.ino, stat.size, stat.mtimeMs, stat.ctimeMs].join(' ')
      if (before?.path === real && before.version === version) return before
      const contents = stat.size <= maxContents ? await handle.readFile() : undefined
      // Equal times do not prove equal contents: reproducible builds give every file the same time. Small files are hashed.
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

/** An unreadable or oversized rules file is ignored. */
async function readRules(folder: string): Promise<SiteRules | null> {
  try {
    const file = join(dirname(folder), siteRulesFile)
    if ((await files.stat(file)).size > siteRulesBytes) return null
    return JSON.parse(await files.readFile(file, 'utf8')) as SiteRules
  } catch {
    return null
  }
}

/** The crypto module is loaded with the first file: an edge without static sites saves its memory. */
async function contentHash(contents: Buffer): Promise<string> {
  const { createHash } = await import('node:crypto')
  return createHash('sha256').update(contents).digest('base64url').slice(0, 22)
}
