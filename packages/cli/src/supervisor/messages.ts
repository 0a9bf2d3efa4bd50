/** A process of an instance. */
export type Role = 'worker' | 'api'
/** Signals that stop an instance. */
export const stopSignals = ['SIGINT', 'SIGHUP', 'SIGTERM'] as const
export type StopSignal = (typeof stopSignals)[number]

/**
 * What a supervised process reports. `database`: the worker has opened it, so the API process may. `started`: it works. `over`: the
 * worker ends for a reason that it has printed, so starting it again is of no use.
 */
export type Report = 'database' | 'started' | 'over'

/**
 * What the supervisor tells a process. `open`: to the API process, the database is open. `ready`: to the worker, both have started
 * for the first time. `abandon`: to the worker, the API process could not start. A signal: to stop as at this signal.
 */
export type Order = 'open' | 'ready' | 'abandon' | StopSignal

/** The variable that marks a supervised process; its role is in BERTH_ROLE. */
export const supervisedVariable = 'BERTH_SUPERVISED'

export const titles: Readonly<Record<Role, string>> = { worker: 'worker', api: 'API process' }
