import type { Log } from '../../platform/log.ts'
import type { Resolve } from '../web-request/resolve.ts'
import { type AddressGuard, addressGuard } from './address-guard.ts'
import type { ArchiveStore, ArchiveStoreConfig, ArchiveStores, LocalConfig } from './archive-store.ts'
import { type ListingBounds, listingBounds, withListingBounds } from './listing-bounds.ts'
import { localStore } from './local-store.ts'
import type { StoreFailure } from './store-failure.ts'
import { withLog } from './with-log.ts'
import { withRetries } from './with-retries.ts'
import { withTimeLimit } from './with-time-limit.ts'

export interface ArchiveStoreSettings {
  log: Log
  /** Whether destinations may be in the instance's own network; false where untrusted users create them. */
  allowPrivate: boolean
  resolve?: Resolve
  /** Longest time without progress of a destination. */
  silentMs?: number
  attempts?: number
  firstPauseMs?: number
  /** Limits of a destination's listing. */
  listing?: ListingBounds
  /** Test hook: wraps the store with one that fails, below retries, limits and log. */
  wrap?: (store: ArchiveStore) => ArchiveStore
}

/** Opens every destination with the same wrappers: transient errors are retried, calls time out, and the log records them. */
export function createArchiveStores(settings: ArchiveStoreSettings): ArchiveStores {
  const { log, silentMs = 300_000, attempts = 5, firstPauseMs = 500, wrap = (store) => store, listing = listingBounds } = settings
  const guardOf = (config: { allowsLocalAddress: boolean } | LocalConfig) =>
    addressGuard({ ...settings, allowsLocalAddress: 'allowsLocalAddress' in config && config.allowsLocalAddress })
  return {
    async open(config) {
      const path = locationOf(config)
      const onRetry = (failure: StoreFailure, attempt: number) =>
        log.warn({ location: path, err: failure, attempt }, 'backups: destination request failed, retrying')
      const limitedStore = withTimeLimit(
        withListingBounds(wrap(await bareStore(config, guardOf(config), listing)), listing),
        silentMs,
      )
      return withLog(withRetries(limitedStore, { attempts, firstPauseMs, onRetry }), log, path)
    },
    hostKeyOf: async (config, abort) => (await import('./sftp-link.ts')).hostKeyOf(config, guardOf(config), abort),
  }
}

async function bareStore(config: ArchiveStoreConfig, guard: AddressGuard, bounds: ListingBounds): Promise<ArchiveStore> {
  if (config.kind === 'local') return localStore(config)
  // Loaded when the first one is opened: an instance without such a destination does not load the library.
  if (config.kind === 's3') return (await import('./s3-store.ts')).s3Store(config, guard, bounds)
  return (await import('./sftp-store.ts')).sftpStore(config, guard, bounds)
}

/** The location for messages and the log. */
export function locationOf(config: ArchiveStoreConfig): string {
  if (config.kind === 'local') return config.path
  if (config.kind === 's3') return `s3://${config.bucket}/${config.prefix ?? ''}`
  return `sftp://${config.user}@${config.host}:${config.port}/${config.path.replace(/^\/+/, '')}`
}
