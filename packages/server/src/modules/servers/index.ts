import { isReread, type Reread } from '../../platform/signals/signals.ts'
import { checkServer } from './check.ts'
import type { ServersDeps } from './deps.ts'
import { serversHandlers } from './handlers.ts'
import { hasServer, type ServerSignal, serversTopic } from './servers.ts'
import { findServer, findServerOf, listAllServers } from './store.ts'
import { sshTargets } from './targets.ts'

export { answerAway } from './check.ts'
export type { ServerPorts, ServersDeps } from './deps.ts'

/**
 * Machines that are reached over SSH. A server's *host key* is pinned at the first contact, its *credential* is sealed and goes
 * to that host alone. How it is reached is a driver's matter (`drivers/shell/ssh`), which asks here who the servers are.
 */
export function createServers(deps: ServersDeps) {
  const { db, signals } = deps.database
  deps.links.readFrom(sshTargets(deps))
  const unsubscribe = signals.subscribe(serversTopic, (event: ServerSignal | Reread) => {
    if (!isReread(event)) deps.links.drop(event.changed)
  })
  return {
    handlers: serversHandlers(deps),
    loaders: {
      server: ({ id, serverId }: Record<string, string>, { organizationId }: { organizationId: string }) =>
        findServerOf(db, organizationId, (id ?? serverId) as string),
    },
    /** For projects that name one. */
    directory: { has: (organizationId: string, serverId: string) => hasServer(db, organizationId, serverId) },
    nameOf: async (serverId: string) => (await findServer(db, serverId))?.name ?? serverId,
    /** Reads a server without changing anything on it. Somebody asks for it now: a failure that is remembered is not repeated. */
    reader: (serverId: string) => {
      deps.links.for(serverId).retry()
      return deps.readerOf(serverId)
    },
    /** What is looked at from time to time; a server without a credential was never meant to answer. */
    watched: {
      list: async () => (await listAllServers(db)).filter(({ authentication }) => authentication !== 'none'),
      check: async (serverId: string, abort: AbortSignal) => void (await checkServer(serverId, deps, abort)),
    },
    async close(): Promise<void> {
      unsubscribe()
      await deps.links.close()
    },
  }
}
