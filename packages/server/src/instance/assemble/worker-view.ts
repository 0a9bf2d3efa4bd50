import type { InstanceFacts } from '../../http/health.ts'
import { createEdgeCopy } from '../../modules/routing/index.ts'
import type { Awaitable } from '../../platform/awaitable.ts'
import type { Database } from '../../platform/database.ts'
import { readMachineFacts } from '../../platform/machines/machine-store.ts'
import type { Config } from '../config/config.ts'

/** The worker, as an API process knows it from the database. */
export type WorkerView = ReturnType<typeof createWorkerView>

export function createWorkerView({ database, config }: { database: Database; config: Config }) {
  const { routes, refresh } = createEdgeCopy({ database, settings: config })
  return {
    /** The edge's routes as of the last `refresh`. */
    routes,
    refresh,
    /** Projects on servers run in Docker. */
    driverFor: (serverId: string | null): Awaitable<string | null> =>
      serverId === null ? readMachineFacts(database.db).then((facts) => facts?.runtime ?? null) : 'docker',
    async isolation(): Promise<Awaited<ReturnType<InstanceFacts['isolation']>>> {
      const { isolationKind: kind, isolationMessage: message } = (await readMachineFacts(database.db)) ?? {}
      return kind && message ? { kind, message } : undefined
    },
  }
}
