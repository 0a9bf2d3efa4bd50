import { type Log, silentLog } from '../log.ts'
import { Listeners } from './listeners.ts'
import type { Signals } from './signals.ts'

/** Signals within the one process that owns a SQLite data folder. */
export function memorySignals(log: Log = silentLog): Signals {
  const listeners = new Listeners(log)
  return {
    publish: (topic, event) => listeners.deliver(topic, event),
    subscribe: (topic, listener) => listeners.add(topic, listener),
    close: async () => listeners.clear(),
  }
}
