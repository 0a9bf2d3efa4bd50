import type { InstanceChange, Runtime } from './runtime.ts'

/** A place where projects run, and the engine there. */
export interface RunningPlace {
  /** null: this machine. */
  serverId: string | null
  runtime: Runtime
}

/**
 * Where projects run. Every instance, volume and built image is on one server, its row says which, and everything that
 * is done to it is asked of the runtime of that server.
 */
export interface Runtimes {
  /** The runtime of a server; null is this machine. Connects to nobody: that is done by what is asked of it. */
  for(serverId: string | null): Runtime
  /** Every place that was asked for so far, this machine first. */
  all(): Promise<readonly RunningPlace[]>
  /** What happens to instances anywhere, also in places that come later. Gives the end of it. */
  onChange(listener: (change: InstanceChange, serverId: string | null) => void): () => void
  /**
   * How often the way to a server or to an engine was lost or could not be found: one that is higher after a call than before
   * it was cut meanwhile, whatever the call says. Always 0 for plain processes.
   */
  losses(serverId: string | null): number
  /** A server, or for null the engine of this machine, answers again after it was away. Gives the end of it. */
  onBack(listener: (serverId: string | null) => void): () => void
  /** Stops watching everywhere; what runs goes on running. */
  close(): Promise<void>
}

/** This machine alone. */
export const onlyHere = (runtime: Runtime): Runtimes => ({
  for(serverId) {
    if (serverId !== null) throw new Error(`There is no server ${serverId} on this instance`)
    return runtime
  },
  all: async () => [{ serverId: null, runtime }],
  onChange: (listener) => runtime.onChange((change) => listener(change, null)),
  losses: () => runtime.disconnects?.() ?? 0,
  onBack: (listener) => runtime.onReconnect?.(() => listener(null)) ?? (() => undefined),
  close: () => runtime.close(),
})
