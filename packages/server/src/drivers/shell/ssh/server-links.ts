import type { ServerLinks } from './server-link.ts'
import { ServerUnreachable } from './server-unreachable.ts'
import { SshConnectionPool } from './ssh-connection-pool.ts'
import type { SshTargets } from './ssh-target.ts'

/** Creates the links: one per server, shared by all callers. */
export function createServerLinks(): ServerLinks {
  const links = new Map<string, SshConnectionPool>()
  const listeners = new Set<(serverId: string) => void>()
  let targets: SshTargets | undefined
  let open = 0
  const requireTargets = () => {
    if (!targets) throw new ServerUnreachable('unknown_server', 'This instance knows no servers')
    return targets
  }
  const parts = {
    targets: requireTargets,
    onReconnect: (serverId: string) => {
      for (const listener of listeners) listener(serverId)
    },
    onConnectionCount: (change: 1 | -1) => {
      open += change
    },
  }
  return {
    for(serverId) {
      const link = links.get(serverId) ?? new SshConnectionPool(serverId, parts)
      links.set(serverId, link)
      return link
    },
    readFrom(found) {
      targets = found
    },
    ids: async () => (targets ? targets.ids() : []),
    drop(serverId) {
      links.get(serverId)?.reset()
    },
    openConnections: () => open,
    onReconnect(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      for (const link of links.values()) link.close()
      links.clear()
    },
  }
}
