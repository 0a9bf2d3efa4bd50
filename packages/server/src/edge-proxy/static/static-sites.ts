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

/** Finds the files of all static deployments inside their folders and caches them up to a size limit. */
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
    return this.#cached(`${site.folder}\0${path}`, (previous) => this.#read(site, path, previous))
  }

  /** The file in that encoding: a sibling created by the build, or compressed here if it is small enough. */
  async encoded(site: StaticTarget, path: string, file: SiteFile, encoding: Encoding): Promise<SiteFile | undefined> {
    if (!isCompressible(file.type)) return undefined
    const sibling = await this.find(site, path + suffixes[encoding])
    const etag = `${file.etag.slice(0, -1)}-${encoding}"`
    if (sibling) return { ...sibling, type: file.type, etag, modifiedMs: file.modifiedMs }
    const { contents } = file
    if (!contents || contents.length < compressFrom) return undefined
    return this.#cached(`${file.path}\0${etag}`, async (previous) => {
      // The etag of a small file is its hash: the compressed copy is still valid.
      if (previous) return previous
      const smaller = await compress(contents, encoding)
      return smaller && { ...file, etag, size: smaller.length, contents: smaller }
    })
  }

  /** The redirects and headers of the site; null if there are none. The folder does not change, so the file is read once. */
  rules({ folder }: StaticTarget): Promise<SiteRules | null> {
    const existing = this.#rules.get(folder) ?? readRules(folder)
    this.#rules.set(folder, existing)
    return existing
  }

  /** Called with a new table: forgets folders of removed deployments. */
  keepOnly(folders: ReadonlySet<string>): void {
    for (const existing of [this.#roots, this.#rules])
      for (const folder of existing.keys()) if (!folders.has(folder)) existing.delete(folder)
  }

  /** `read` receives the previous entry, so that slow clients of an unchanged file share the same buffer. */
  #cached(key: string, read: (previous: SiteFile | undefined) => Promise<SiteFile | undefined>): Promise<SiteFile | undefined> {
    const now = Date.now()
    const existing = this.#entries.get(key)
    if (existing && existing.until > now) return existing.file
    if (existing) this.#remove(key, existing)
    const entry: Entry = { file: existing ? existing.file.then(read) : read(undefined), until: now + cacheTtlMs, bytes: 0 }
    this.#entries.set(key, entry)
    entry.file = entry.file.then(
      (file) => this.#accountAndEvict(key, entry, file),
      () => {
        this.#remove(key, entry)
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
      this.#remove(oldest, other)
    }
    return file
  }

  #remove(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
  }

  async #read(site: StaticTarget, path: string, previous: SiteFile | undefined): Promise<SiteFile | undefined> {
    const root = await this.#root(site.folder)
    const realPath = await files.realpath(join(root, path)).catch(() => undefined)
    if (!realPath?.startsWith(root + sep)) return undefined
    // A symlink inside the folder may point to a hidden file; the rule applies to its target.
    const segments = realPath.slice(root.length + 1).split(sep)
    if (segments.some((part, at) => part.startsWith('.') && !(at === 0 && part === '.well-known'))) return undefined
    const handle = await files
      .open(realPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
      .catch(() => undefined)
    if (!handle) return undefined
    try {
      const stat = await handle.stat()
      if (!stat.isFile()) return undefined
      const version = [stat.dev, stat.ino, stat.size, stat.mtimeMs, stat.ctimeMs].join(' ')
      if (previous?.path === realPath && previous.version === version) return previous
      const contents = stat.size <= maxContents ? await handle.readFile() : undefined
      // Equal times do not prove equal contents: reproducible builds give every file the same time. Small files are hashed.
      const etag = contents
        ? `"${await contentHash(contents)}"`
        : `"${site.deploymentId}-${stat.size.toString(36)}-${Math.floor(stat.mtimeMs).toString(36)}"`
      return {
        path: realPath,
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
    const existing = this.#roots.get(folder)
    if (existing) return existing
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
