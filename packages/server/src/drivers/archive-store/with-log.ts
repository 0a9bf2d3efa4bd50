import type { Log } from '../../platform/log.ts'
import type { ArchiveStore } from './archive-store.ts'
import { isMissing } from './store-failure.ts'

/** Logs changes and errors of a destination; `location` is its location, without secrets. */
export function withLog(store: ArchiveStore, log: Log, location: string): ArchiveStore {
  const logged = async <Result>(operation: string, work: Promise<Result>, level: 'info' | 'debug' = 'info'): Promise<Result> => {
    const startedAt = performance.now()
    try {
      const result = await work
      const durationMs = Math.round(performance.now() - startedAt)
      log[level]({ location, durationMs, ...(typeof result === 'object' ? result : {}) }, `backups: ${operation} finished`)
      return result
    } catch (error) {
      if (!isMissing(error)) log.warn({ location, err: error }, `backups: ${operation} failed`)
      throw error
    }
  }

  return {
    check: (abort) => logged('check of a destination', store.check(abort)),
    put: (name, content, abort) => logged(`upload of ${name}`, store.put(name, content, abort)),
    get: (name, abort, options) => store.get(name, abort, options),
    size: (name, abort) => logged(`size request of ${name}`, store.size(name, abort), 'debug'),
    list: (prefix, abort) => store.list(prefix, abort),
    remove: (name, abort) => logged(`removal of ${name}`, store.remove(name, abort)),
    removeUnfinished: (olderThan, abort) => logged('removal of unfinished uploads', store.removeUnfinished(olderThan, abort)),
    close: () => store.close(),
  }
}
