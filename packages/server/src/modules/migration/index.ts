import type { Db } from '../../platform/db/schema.ts'
import { KeyedMutex } from '../../platform/keyed-mutex.ts'
import type { MigrationDeps } from './deps.ts'
import { migrationHandlers } from './handlers.ts'
import { oldContainersOf } from './old-containers.ts'
import { migrationPart } from './project-part.ts'
import { listUnsettled } from './store.ts'

export type { MigrationDeps } from './deps.ts'

/**
 * Adoption of existing containers. A *scan* reads a server and changes nothing; *adopt* records some of its services as a
 * project. The deployment that follows replaces the old containers.
 */
export function createMigration(options: Omit<MigrationDeps, 'locks'>) {
  const deps: MigrationDeps = { ...options, locks: new KeyedMutex() }
  const oldContainers = oldContainersOf(deps)
  return {
    handlers: migrationHandlers(deps),
    oldContainers,
    part: migrationPart(oldContainers, deps),
    /** Describes what still uses the server. */
    usesOf: async (db: Db, serverId: string) =>
      (await listUnsettled(db))
        .filter((one) => one.serverId === serverId)
        .map(({ projectId }) => `adopted containers of ${projectId} that are not replaced yet`),
  }
}
