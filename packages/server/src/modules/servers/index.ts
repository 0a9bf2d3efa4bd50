import { isReread, type Reread } from '../../platform/signals/signals.ts'
import { checkServer } from './check.ts'
import type { ServersDeps } from './deps.ts'
import { serversHandlers } from './handlers.ts'
import { hasServer, type ServerSignal, serversTopic } from './servers.ts'
import { findServer, findServerOf, listAllServers } from './store.ts'
import { sshTargets } from './targets.ts'

export { answerUnreachable } from './check.ts'
export type { ServerPorts, ServersDeps } from './deps.ts'

/**
 * Machines that are reached over SSH. A server's *host key* is pinned at the first connection; its *credential* is encrypted
 * and sent to that host alone. The driver in `drivers/shell/ssh` makes the connections, and reads the servers from here.
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
    /** Lookup for projects that name a server. */
    directory: { has: (organizationId: string, serverId: string) => hasServer(db, organizationId, serverId) },
    nameOf: async (serverId: string) => (await findServer(db, serverId))?.name ?? serverId,
    /** Reads a server without changing anything on it. A client requests it now, so a remembered failure is retried. */
    reader: (serverId: string) => {
      deps.links.for(serverId).retry()
      return deps.readerOf(serverId)
    },
    /** Servers that are checked periodically; one without a credential cannot be reached. */
    watched: {
      list: async () => (await listAllServers(db)).filter(({ authentication }) => authentication !== 'none'),
      async check(serverId: string, abort: AbortSignal): Promise<void> {
        await checkServer(serverId, deps, abort)
      },
    },
    async close(): Promise<void> {
      unsubscribe()
      await deps.links.close()
    },
  }
}
