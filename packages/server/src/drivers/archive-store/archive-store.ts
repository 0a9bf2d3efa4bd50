import type { Secret } from '../../platform/secrets/secret.ts'

/**
 * Storage for archives. All implementations pass the same suite (`suite.ts`). Names are `/`-separated relative parts of
 * letters, digits and `_ . -` that Berth chooses itself; a part does not begin with a dot. Every method rejects with
 * `StoreFailure`, or with the signal's reason when the caller aborted.
 */
export interface ArchiveStore {
  /**
   * Writes, reads back and deletes a small object; rejects with a message that says what to do (which permission, which path).
   */
  check(abort: AbortSignal): Promise<void>

  /**
   * Atomic: the name becomes visible when every byte is stored, and an earlier content of that name stays until then. When the
   * content fails, or on abort, sent data is removed if the destination is reachable.
   */
  put(name: string, content: AsyncIterable<Uint8Array>, abort: AbortSignal): Promise<{ sizeBytes: number }>

  /** Rejects with the reason `missing` at the first read. `from` skips that many bytes without fetching them. */
  get(name: string, abort: AbortSignal, options?: { from?: number }): AsyncIterable<Uint8Array>

  /** Undefined when the name does not exist. */
  size(name: string, abort: AbortSignal): Promise<number | undefined>

  /**
   * Every name that starts with the prefix, which is empty or ends with `/`. In no particular order; after a retried error,
   * names are repeated. A listing beyond `listingBounds` rejects.
   */
  list(prefix: string, abort: AbortSignal): AsyncIterable<StoredObject>

  /** Succeeds also when the name does not exist. */
  remove(name: string, abort: AbortSignal): Promise<void>

  /**
   * Removes leftovers of interrupted puts (unfinished multipart uploads, temporary files) from before that time; returns how
   * many.
   */
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
  /** Absolute path, either the root itself or below it. */
  path: string
  /** A folder that the operator allowed; symlinks below it are not followed. Created if it does not exist. */
  root: string
}

export interface S3Config {
  kind: 's3'
  /** URL of the endpoint; absent: AWS. */
  endpoint?: string
  region?: string
  bucket: string
  prefix?: string
  accessKeyId: string
  secretAccessKey: Secret
  /** Whether the destination may be on this machine: an operator created it. */
  allowsLocalAddress: boolean
  /** Whether the bucket is in the path instead of the host name; default: true where an endpoint is given. */
  forcePathStyle?: boolean
}

export interface SftpConfig {
  kind: 'sftp'
  host: string
  port: number
  user: string
  /** Absolute, or relative to the user's home. Created if it does not exist. */
  path: string
  password?: Secret
  privateKey?: Secret
  /** Whether the destination may be on this machine: an operator created it. */
  allowsLocalAddress: boolean
  /** Pinned host key, `SHA256:…`. Nothing is sent to a host with another key; absent: `hostKeyOf` has not been called yet. */
  hostKey?: string
}

export type ArchiveStoreConfig = LocalConfig | S3Config | SftpConfig

export interface ArchiveStores {
  /**
   * Connects to nothing yet: `check` reports whether the destination works. Rejects with `denied` for a location that is not
   * allowed.
   */
  open(config: ArchiveStoreConfig): Promise<ArchiveStore>
  /** The current key of an sftp host, as `SHA256:…`: pinned when the destination is created, before anything is sent. */
  hostKeyOf(config: Pick<SftpConfig, 'host' | 'port' | 'allowsLocalAddress'>, abort: AbortSignal): Promise<string>
}
