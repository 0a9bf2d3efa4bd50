import type { Log } from '../../platform/log.ts'
import type { ArchiveStore, ArchiveStoreConfig, ArchiveStores } from './archive-store.ts'
import { localStore } from './local-store.ts'
import { StoreFailure } from './store-failure.ts'
import { withLog } from './with-log.ts'
import { withRetries } from './with-retries.ts'
import { withTimeLimit } from './with-time-limit.ts'

export interface ArchiveStoreSettings {
  log: Log
  /** Between two signs of life of a destination. */
  silentMs?: number
  attempts?: number
  firstPauseMs?: number
}

/** Every destination with the same care around it: faults that pass are asked again, silence has an end, the log is told. */
export function createArchiveStores(settings: ArchiveStoreSettings): ArchiveStores {
  const { log, silentMs = 120_000, attempts = 5, firstPauseMs = 500 } = settings
  return {
    async open(config) {
      const place = placeOf(config)
      const onRetry = (failure: StoreFailure, attempt: number) =>
        log.warn({ place, err: failure, attempt }, 'a destination is asked again')
      const limited = withTimeLimit(await bareStore(config), silentMs)
      return withLog(withRetries(limited, { attempts, firstPauseMs, onRetry }), log, place)
    },
    async hostKeyOf() {
      throw new StoreFailure('other', 'sftp destinations are not built yet')
    },
  }
}

async function bareStore(config: ArchiveStoreConfig): Promise<ArchiveStore> {
  if (config.kind === 'local') return localStore(config)
  throw new StoreFailure('other', `${config.kind} destinations are not built yet`)
}

/** For people and the log. */
export function placeOf(config: ArchiveStoreConfig): string {
  if (config.kind === 'local') return config.path
  if (config.kind === 's3') return `s3://${config.bucket}/${config.prefix ?? ''}`
  return `sftp://${config.user}@${config.host}:${config.port}/${config.path.replace(/^\/+/, '')}`
}
