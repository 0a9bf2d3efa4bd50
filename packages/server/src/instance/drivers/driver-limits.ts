import type { ArchiveStores } from '../../drivers/archive-store/archive-store.ts'
import { StoreFailure } from '../../drivers/archive-store/store-failure.ts'
import type { EdgeDriver } from '../../drivers/edge/edge.ts'
import type { Runtime } from '../../drivers/runtime/runtime.ts'
import type { Runtimes } from '../../drivers/runtime/runtimes.ts'
import type { ServerReader } from '../../drivers/runtime/server/server-reader.ts'
import { ServerUnreachable } from '../../drivers/shell/ssh/server-unreachable.ts'
import { withCallLog } from '../../drivers/wrapping/with-call-log.ts'
import { withTimeLimits } from '../../drivers/wrapping/with-time-limits.ts'
import type { Log } from '../../platform/log.ts'
import type { Drivers } from './drivers.ts'

/**
 * Time limits of all driver calls. Work that spans several calls has its own deadline. Mail, web requests, probes and git take
 * their limit as an argument, name servers have it in their settings, and a certificate order uses that of its job.
 */
export const limitDrivers = (drivers: Drivers, log: Log): Drivers => ({
  ...drivers,
  edge: limitEdge(drivers.edge, log),
  acme: withCallLog(drivers.acme, { title: 'acme', log, methods: ['order'] }),
  runtimes: limitRuntimes(drivers.runtimes),
  stores: limitStores(drivers.stores),
})

function limitEdge(edge: EdgeDriver, log: Log): EdgeDriver {
  const limited = withTimeLimits(edge, {
    title: 'the edge',
    limits: {
      // Longer than the time after which an edge that does not respond is replaced.
      apply: { ms: 40_000, signalIndex: 1 },
      activity: { ms: 40_000, signalIndex: null },
      ruleHits: { ms: 40_000, signalIndex: null },
      requestTotals: { ms: 40_000, signalIndex: null },
    },
  })
  return withCallLog(limited, { title: 'edge', log, methods: ['apply', 'drain'] })
}

const limitRuntime = (runtime: Runtime, serverId: string | null): Runtime =>
  withTimeLimits(runtime, {
    title: serverId === null ? 'The runtime' : 'The Docker engine of the server',
    limits: {
      check: { ms: 15_000, signalIndex: 0 },
      usage: { ms: 30_000, signalIndex: 0 },
      // A preview of a deletion waits for both; a size that takes longer is not shown.
      listArtifacts: { ms: 15_000, signalIndex: null },
      volumeSizeBytes: { ms: 15_000, signalIndex: null },
      removeArtifact: { ms: 60_000, signalIndex: 1 },
      removeBuilds: { ms: 120_000, signalIndex: 1 },
    },
  })

function limitRuntimes(runtimes: Runtimes): Runtimes {
  const limited = new WeakMap<Runtime, Runtime>()
  const limit = (serverId: string | null, runtime: Runtime): Runtime => {
    const limitedRuntime = limited.get(runtime) ?? limitRuntime(runtime, serverId)
    limited.set(runtime, limitedRuntime)
    return limitedRuntime
  }
  return {
    ...runtimes,
    for: (serverId) => limit(serverId, runtimes.for(serverId)),
    all: async () => (await runtimes.all()).map(({ serverId, runtime }) => ({ serverId, runtime: limit(serverId, runtime) })),
  }
}

const limitStores = (stores: ArchiveStores): ArchiveStores =>
  withTimeLimits(stores, {
    title: 'The destination',
    limits: { hostKeyOf: { ms: 20_000, signalIndex: 1 } },
    timeoutError: (message) => new StoreFailure('timeout', message),
  })

/** A server that accepts the connection but does not answer counts as unreachable. */
export const limitReader = (reader: ServerReader): ServerReader =>
  withTimeLimits(reader, {
    title: 'The server',
    limits: { ping: { ms: 15_000, signalIndex: 0 } },
    timeoutError: (message) => new ServerUnreachable('unreachable', message),
  })
