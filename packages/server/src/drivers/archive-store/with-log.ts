import type { Log } from '../../platform/log.ts'
import type { ArchiveStore } from './archive-store.ts'
import { isMissing } from './store-failure.ts'

/** Logs what is stored and removed, and errors; `place` is the destination's location, without secrets. */
export function withLog(store: ArchiveStore, log: Log, path: string): ArchiveStore {
  const reported = async <Result>(doing: string, work: Promise<Result>, quiet = false): Promise<Result> => {
    const startedAt = performance.now()
    try {
      const result = await work
      const durationMs = Math.round(performance.now() - startedAt)
      if (quiet) log.debug({ place: path, durationMs }, doing)
      else log.info({ place: path, durationMs, ...(typeof result === 'object' ? result : {}) }, doing)
      return result
    } catch (error) {
      if (!isMissing(error)) log.warn({ place: path, err: error }, `${doing} failed`)
      throw error
    }
  }

  return {
    check: (abort) => reported('checked a destination', store.check(abort)),
    put: (name, content, abort) => reported(`stored ${name}`, store.put(name, content, abort)),
    get: (name, abort, options) => store.get(name, abort, options),
    size: (name, abort) => reported(`asked for the size of ${name}`, store.size(name, abort), true),
    list: (prefix, abort) => store.list(prefix, abort),
    remove: (name, abort) => reported(`removed ${name}`, store.remove(name, abort)),
    removeUnfinished: (olderThan, abort) => reported('removed unfinished uploads', store.removeUnfinished(olderThan, abort)),
    close: () => store.close(),
  }
}
