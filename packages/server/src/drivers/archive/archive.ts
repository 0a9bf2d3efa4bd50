import type { ArchiveStore } from '../archive-store/archive-store.ts'

/**
 * Turns content (a tar stream, a dump) into files of a destination and back. Content is cut into parts of some MiB; each is
 * compressed, encrypted in the age format and stored under a name of its own. Opened and joined in order they are the
 * content again: `age -d` of each, one after the other, into `zstd -d`, into `tar x`. Memory stays the same whatever the size.
 */
export interface Archives {
  /** `age1…`, to which everything is encrypted. */
  readonly recipient: string
  /** Of all keys that are here: what is encrypted to another one cannot be opened. */
  readonly recipients: readonly string[]
  /** The key was made just now. What was stored before, if anything, was encrypted to one that is gone. */
  readonly isNewKey: boolean

  /**
   * Stores the content and resolves with its index, without which the parts are worth nothing: keep it, best in a manifest that
   * is written last. A part that `earlier` knows is not stored again. Parts are sent several at once, each of them again after
   * a fault that passes. On failure or abort the parts that were stored are removed as far as the place can be reached; whatever
   * is left begins with `base`.
   */
  write(content: AsyncIterable<Uint8Array>, writing: ArchiveWriting): Promise<ArchiveIndex>

  /**
   * Reads what `write` stored back from the destination and compares it, byte for byte by its hash; of parts that were stored by
   * earlier runs the size. `everything` reads those, too. Rejects with `StoreFailure` (`missing`, `corrupt`), naming the part.
   */
  verify(index: ArchiveIndex, reading: ArchiveReading & { everything?: boolean }): Promise<void>

  /** The content. Each part is checked before a byte of it is handed out: size, encryption, and the keyed hash of its content. */
  read(index: ArchiveIndex, reading: ArchiveReading): AsyncIterable<Uint8Array>

  /** Small things, such as a manifest: compressed and encrypted in memory as one part. */
  seal(content: Uint8Array): Promise<Uint8Array>
  /** Rejects with `StoreFailure` `corrupt` when it was not sealed to this instance, was changed, or is more than that. */
  unseal(sealed: Uint8Array, maxBytes: number): Promise<Uint8Array>

  close(): Promise<void>
}

export interface ArchiveWriting {
  store: ArchiveStore
  /** Begins the names of the parts: `runs/x/data` makes `runs/x/data.0000.tar.zst.age`. No two writings may share it. */
  base: string
  /** What the content is, for its name: `tar`, `sql`, `rdb`. Parts of a tar are cut where its files begin. */
  extension: string
  /** Parts of earlier archives at the same destination, by `content`; see `partsThere`. */
  earlier?: ReadonlyMap<string, ArchivePart>
  onProgress?: (progress: WriteProgress) => void
  abort: AbortSignal
}

export interface WriteProgress {
  /** Of the content, as it came. */
  plainBytes: number
  /** Of the parts that were stored now, and of those that were there. */
  storedBytes: number
  reusedBytes: number
}

export interface ArchiveReading {
  store: ArchiveStore
  /** Called with the stored bytes that were read so far. */
  onProgress?: (storedBytes: number) => void
  abort: AbortSignal
}

export interface ArchivePart {
  /** At the destination. */
  name: string
  /** A keyed hash of what is in it: the same content has the same, and only this instance can tell. */
  content: string
  plainBytes: number
  /** As stored. */
  sizeBytes: number
  sha256: string
  /** It was stored by an earlier archive. */
  reused: boolean
}

export interface ArchiveIndex {
  compression: Compression
  parts: ArchivePart[]
  plainBytes: number
  /** Of all parts as stored, whoever stored them, and of those that were there already. */
  sizeBytes: number
  reusedBytes: number
  /** The stored file's, where it is one part; else of the parts' hashes, a line each, as `sha256sum` would say. */
  sha256: string
}

/** Recorded with each archive: zstd where this Node has it. */
export type Compression = 'zstd' | 'gzip'

/** Content is cut into parts of about that much; a part is never more than twice of it. */
export const usualPartBytes = 4 * 1024 * 1024
/** What any version of Berth may have made. */
export const longestPartBytes = 16 * 1024 * 1024
