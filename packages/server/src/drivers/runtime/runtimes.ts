import type { InstanceChange, Runtime } from './runtime.ts'

/** A machine that runs projects, with its runtime. */
export interface ServerRuntime {
  /** null: this machine. */
  serverId: string | null
  runtime: Runtime
}

/**
 * The runtimes of all servers. Every instance, volume and built image is on one server. Its database row names that server,
 * and the runtime of that server performs every operation on it.
 */
export interface Runtimes {
  /** Returns the runtime of a server; null is this machine. Does not connect: the first call on the runtime does. */
  for(serverId: string | null): Runtime
  /** Every runtime requested so far, this machine first. */
  all(): Promise<readonly ServerRuntime[]>
  /** Subscribes to changes of instances on every server, including servers added later. Returns the function that unsubscribes. */
  onChange(listener: (change: InstanceChange, serverId: string | null) => void): () => void
  /**
   * Counts lost and failed connections to a server or an engine. If the count rose during a call, the result of that call may
   * be incomplete. Always 0 for plain processes.
   */
  disconnects(serverId: string | null): number
  /** Subscribes to reconnects of a server, or of this machine's engine (null). Returns the function that unsubscribes. */
  onReconnect(listener: (serverId: string | null) => void): () => void
  /** Stops watching on every server. Instances keep running. */
  close(): Promise<void>
}

/** Runtimes of an installation without servers: this machine only. */
export const localRuntimes = (runtime: Runtime): Runtimes => ({
  for(serverId) {
    if (serverId !== null) throw new Error(`There is no server ${serverId} on this instance`)
    return runtime
  },
  all: async () => [{ serverId: null, runtime }],
  onChange: (listener) => runtime.onChange((change) => listener(change, null)),
  disconnects: () => runtime.disconnects?.() ?? 0,
  onReconnect: (listener) => runtime.onReconnect?.(() => listener(null)) ?? (() => undefined),
  close: () => runtime.close(),
})
