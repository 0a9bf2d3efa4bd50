import type { ArchiveStore } from '../archive-store/archive-store.ts'

/**
 * Converts content (a tar stream, a dump) to files of a destination and back. Content is split into parts of some MiB; each is
 * compressed, encrypted in the age format and stored under its own name. Decrypted and joined in order they are the content
 * again: `age -d` of each, one after the other, into `zstd -d`, into `tar x`. Memory use does not depend on the size.
 */
export interface Archives {
  /** The public key (`age1…`) that everything is encrypted to. */
  readonly recipient: string
  /** Public keys of all available keys: data encrypted to another key cannot be decrypted. */
  readonly recipients: readonly string[]
  /** The key was generated just now. Earlier backups, if any, were encrypted to a key that is lost. */
  readonly isNewKey: boolean

  /**
   * Stores the content and resolves with the index of its parts. The caller must store the index (usually in a manifest that is
   * written last): the parts cannot be read without it. A part that `earlier` contains is not stored again. Parts are sent
   * concurrently, each with retries. On failure or abort the stored parts are removed if the destination is reachable; the
   * names of parts that remain begin with `base`.
   */
  write(content: AsyncIterable<Uint8Array>, writing: ArchiveWriteOptions): Promise<ArchiveIndex>

  /**
   * Reads the parts that this archive stored back from the destination and compares their hashes. Of reused parts only the size
   * is compared, unless `everything` is set. Rejects with `StoreFailure` (`missing`, `corrupt`), naming the part.
   */
  verify(index: ArchiveIndex, reading: ArchiveReadOptions & { everything?: boolean }): Promise<void>

  /**
   * Reads the content. Each part is checked before any byte of it is returned: size, encryption, and the keyed hash of its
   * content.
   */
  read(index: ArchiveIndex, reading: ArchiveReadOptions): AsyncIterable<Uint8Array>

  /** Compresses and encrypts small content, such as a manifest, in memory as one part. */
  seal(content: Uint8Array): Promise<Uint8Array>
  /**
   * Rejects with `StoreFailure` `corrupt` when the content was not encrypted to this instance, was modified, or exceeds
   * `maxBytes`.
   */
  unseal(sealed: Uint8Array, maxBytes: number): Promise<Uint8Array>

  close(): Promise<void>
}

export interface ArchiveWriteOptions {
  store: ArchiveStore
  /** Prefix of the names of the parts: `runs/x/data` makes `runs/x/data.0000.tar.zst.age`. Must be unique to this call. */
  base: string
  /** Type of the content, for its name: `tar`, `sql`, `rdb`. A tar is split where its files begin. */
  extension: string
  /** Parts of earlier archives at the same destination, by `content`; see `findStoredParts`. */
  earlier?: ReadonlyMap<string, ArchivePart>
  onProgress?: (progress: WriteProgress) => void
  abort: AbortSignal
}

export interface WriteProgress {
  /** Bytes of the content read so far. */
  plainBytes: number
  /** Bytes of the parts stored by this call; `reusedBytes` counts those of existing parts. */
  storedBytes: number
  reusedBytes: number
}

export interface ArchiveReadOptions {
  store: ArchiveStore
  /** Called with the stored bytes read so far. */
  onProgress?: (storedBytes: number) => void
  abort: AbortSignal
}

export interface ArchivePart {
  /** Name at the destination. */
  name: string
  /** Keyed hash of the content: equal content has an equal hash, and only this instance can compute it. */
  content: string
  plainBytes: number
  /** Size as stored. */
  sizeBytes: number
  sha256: string
  /** The part was stored by an earlier archive. */
  reused: boolean
}

export interface ArchiveIndex {
  compression: Compression
  parts: ArchivePart[]
  plainBytes: number
  /** Stored size of all parts; `reusedBytes` counts those of existing parts. */
  sizeBytes: number
  reusedBytes: number
  /** Hash of the stored file if there is one part; otherwise of a text that lists the hashes of the parts, one per line. */
  sha256: string
}

/** Compression of an archive, stored in its index. New archives use zstd where this version of Node supports it. */
export type Compression = 'zstd' | 'gzip'

/** Approximate size of a part; a part is never more than twice as large. */
export const defaultPartBytes = 4 * 1024 * 1024
/** Largest part that any version of Berth may have made. */
export const maxPartBytes = 16 * 1024 * 1024
