import type { MigrationDeps } from './deps.ts'
import { migrationHandlers } from './handlers.ts'
import { predecessorContainers } from './predecessors.ts'

export type { MigrationDeps } from './deps.ts'

/**
 * Takes over what already runs. A *scan* reads a server and changes nothing; *adopt* records some of what it found as a project.
 * The deployment that follows replaces the old containers, its *predecessors*.
 */
export function createMigration(deps: MigrationDeps) {
  return { handlers: migrationHandlers(deps), predecessors: predecessorContainers(deps) }
}
