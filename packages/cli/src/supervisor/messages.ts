/** A process of an instance. */
export type Role = 'worker' | 'api'
/** Signals that stop an instance. */
export const stopSignals = ['SIGINT', 'SIGHUP', 'SIGTERM'] as const
export type StopSignal = (typeof stopSignals)[number]

/**
 * The report of a supervised process. `database`: the worker has opened it, so the API process may. `started`: it works. `over`: the
 * worker ends for a reason that it has printed, so starting it again is of no use.
 */
export type Report = 'database' | 'started' | 'over'

/**
 * The order of the supervisor to a process. `open`: to the API process, the database is open. `ready`: to the worker, both have started
 * for the first time. `abandon`: to the worker, the API process could not start. A signal: to stop as at this signal.
 */
export type Order = 'open' | 'ready' | 'abandon' | StopSignal

export const titles: Readonly<Record<Role, string>> = { worker: 'worker', api: 'API process' }
