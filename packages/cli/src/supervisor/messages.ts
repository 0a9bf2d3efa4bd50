/** A process of an instance. */
export type Role = 'worker' | 'api'
/** Signals that stop an instance. */
export const stopSignals = ['SIGINT', 'SIGHUP', 'SIGTERM'] as const
export type StopSignal = (typeof stopSignals)[number]

/**
 * The report of a supervised process. `database`: the worker has opened it, so the API process may. `listening`: the API process
 * listens on the socket that comes with it. `started`: it works. `over`: the worker ends for a reason that it has printed, so
 * starting it again is of no use.
 */
export type Report = 'database' | 'listening' | 'started' | 'over'

/**
 * A listening socket that processes pass to each other. While the supervisor has it open and no API process runs, the kernel keeps
 * new connections waiting.
 */
export interface ListeningSocket {
  close(): void
}

/**
 * The order of the supervisor to a process. `open`: to the API process, the database is open; the socket of the API process before it
 * may come with it. `ready`: to the worker, both have started for the first time. `abandon`: to the worker, the API process could not
 * start. `release`: to the worker, to stop and leave the edge and the projects to the next one. A signal: to stop as at this signal.
 *
 * A supervisor may be older than the processes that it starts (docs/decisions/upgrade.md): reports and orders never change their meaning.
 */
export type Order = 'open' | 'ready' | 'abandon' | 'release' | StopSignal

export const titles: Readonly<Record<Role, string>> = { worker: 'worker', api: 'API process' }
