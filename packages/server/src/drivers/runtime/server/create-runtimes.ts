import type { ServerLinks } from '../../shell/ssh/server-link.ts'
import type { InstanceChange, Runtime } from '../runtime.ts'
import type { Runtimes } from '../runtimes.ts'

type Listener = (change: InstanceChange, serverId: string | null) => void

/** Runtimes of this machine and of the servers. The runtime of a server is opened on its first use. */
export function createRuntimes(local: Runtime, links: ServerLinks, open: (serverId: string) => Runtime): Runtimes {
  const opened = new Map<string, Runtime>()
  const listeners = new Map<Listener, (() => void)[]>()
  const listen = (listener: Listener, runtime: Runtime, serverId: string | null) =>
    listeners.get(listener)?.push(runtime.onChange((change) => listener(change, serverId)))
  return {
    for(serverId) {
      if (serverId === null) return local
      const existing = opened.get(serverId)
      if (existing) return existing
      const runtime = open(serverId)
      opened.set(serverId, runtime)
      for (const listener of listeners.keys()) listen(listener, runtime, serverId)
      return runtime
    },
    all: async () => [
      { serverId: null, runtime: local },
      ...Array.from(opened, ([serverId, runtime]) => ({ serverId, runtime })),
    ],
    onChange(listener) {
      listeners.set(listener, [])
      listen(listener, local, null)
      for (const [serverId, runtime] of opened) listen(listener, runtime, serverId)
      return () => {
        for (const end of listeners.get(listener) ?? []) end()
        listeners.delete(listener)
      }
    },
    disconnects: (serverId) => {
      const engine = (serverId === null ? local : opened.get(serverId))?.disconnects?.() ?? 0
      return serverId === null ? engine : engine + links.for(serverId).disconnects()
    },
    onReconnect(listener) {
      const ends = [links.onReconnect(listener), local.onReconnect?.(() => listener(null))]
      return () => {
        for (const end of ends) end?.()
      }
    },
    async close() {
      await Promise.all([local, ...opened.values()].map((runtime) => runtime.close()))
    },
  }
}
