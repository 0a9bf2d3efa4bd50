import type { Secret } from '../../platform/secrets/secret.ts'

/**
 * A place where archives are kept. One interface, one suite (`suite.ts`) on every implementation.
 *
 * Names are `/`-separated relative parts of letters, digits and `_ . -` that we chose ourselves; a part does not begin with a
 * dot. Everything rejects with `StoreFailure`, or with the signal's reason when the caller gave up.
 */
export interface ArchiveStore {
  /** Writes, reads back and deletes a small object; rejects with words that say what to do (which permission, which path). */
  check(abort: AbortSignal): Promise<void>

  /**
   * All or nothing: the name is seen only when every byte is stored, and an earlier content of that name is there until then.
   * When the content fails, or on abort, what was sent is taken back, as far as the place can be reached.
   */
  put(name: string, content: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<{ sizeBytes: number }>

  /** Rejects with the reason `missing` at the first read. `from` skips that many bytes without fetching them. */
  get(name: string, abort: AbortSignal, options?: { from?: number }): AsyncIterable<Uint8Array>

  /** Undefined when there is no such name. */
  size(name: string, abort: AbortSignal): Promise<number | undefined>

  /**
   * Every name that starts with the prefix, which is empty or ends with `/`. In no particular order; after a fault that passed, names
   * come once more. A listing beyond `listingBounds` rejects.
   */
  list(prefix: string, abort: AbortSignal): AsyncIterable<StoredObject>

  /** Removing what is not there succeeds. */
  remove(name: string, abort: AbortSignal): Promise<void>

  /** Removes what an interrupted put left behind (unfinished multipart uploads, temporary files) before that time; how many. */
  removeUnfinished(olderThan: Date, abort: AbortSignal): Promise<number>

  close(): Promise<void>
}

export interface StoredObject {
  name: string
  sizeBytes: number
  modifiedAt: string
}

export interface LocalConfig {
  kind: 'local'
  /** Absolute, and the root itself or below it. */
  path: string
  /** One of the folders that the operator allowed; no link below it is followed. Made where it is missing. */
  root: string
}

export interface S3Config {
  kind: 's3'
  /** A web address; AWS itself when absent. */
  endpoint?: string
  region?: string
  bucket: string
  prefix?: string
  accessKeyId: string
  secretAccessKey: Secret
  /** Whether it may lie on this machine: an operator named it. */
  mayBeHere: boolean
  /** Whether the bucket is in the path instead of the host name; so it is where an endpoint is given, unless told otherwise. */
  forcePathStyle?: boolean
}

export interface SftpConfig {
  kind: 'sftp'
  host: string
  port: number
  user: string
  /** Absolute, or relative to the user's home. Made where it is missing. */
  path: string
  password?: Secret
  privateKey?: Secret
  /** Whether it may lie on this machine: an operator named it. */
  mayBeHere: boolean
  /** `SHA256:…`. Nothing is said to a host that shows another one; absent: `hostKeyOf` has yet to ask for it. */
  hostKey?: string
}

export type ArchiveStoreConfig = LocalConfig | S3Config | SftpConfig

export interface ArchiveStores {
  /** Asks nobody yet: whether the place answers is told by `check`. Rejects with `denied` for a place that may not be used here. */
  open(config: ArchiveStoreConfig): Promise<ArchiveStore>
  /** The key that an sftp host shows now, as `SHA256:…`: to be pinned when the destination is made, before anything is sent. */
  hostKeyOf(config: Pick<SftpConfig, 'host' | 'port' | 'mayBeHere'>, abort: AbortSignal): Promise<string>
}
