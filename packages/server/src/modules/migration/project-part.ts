import type { DeletionItem } from '@berth/contract'
import type { AdoptedContainerRow } from '../../platform/db/tables/migration.ts'
import type { OldContainers } from '../deployments/index.ts'
import type { ProjectPart } from '../projects/index.ts'
import type { MigrationDeps } from './deps.ts'
import { listAdopted } from './store.ts'

const rollbackMs = 60_000

/**
 * The containers that a project was adopted from: none is ever removed, and one that the project never replaced is started
 * again.
 */
export const migrationPart = (
  oldContainers: OldContainers,
  { database: { db } }: Pick<MigrationDeps, 'database'>,
): ProjectPart => ({
  describe: 'adopted containers',
  previewDeletion: async ({ id }) => (await listAdopted(db, id)).map(itemOf),
  remove: ({ id }) =>
    oldContainers.rollbackTakeover({ projectId: id, environment: 'production' }, AbortSignal.timeout(rollbackMs)),
})

const itemOf = ({ containerId, containerName, state }: AdoptedContainerRow): DeletionItem => ({
  kind: 'container',
  id: containerId,
  name: containerName,
  sizeBytes: null,
  kept: true,
  reason:
    state === 'handed_over'
      ? 'the project has replaced it. It stays on the server, stopped. Start it with docker start'
      : 'it stays on the server unchanged',
})
