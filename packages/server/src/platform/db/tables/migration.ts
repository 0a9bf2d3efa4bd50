import type { Selectable } from 'kysely'
import type { Flag, Millis } from '../columns.ts'

/** An existing container of a server that became a service of a project here. */
export interface AdoptedContainersTable {
  organizationId: string
  /** The server through which it was adopted; another server of the organisation may be the same machine. */
  serverId: string
  containerId: string
  containerName: string
  projectId: string
  /** The service's name in the project. */
  service: string
  /** The container uses a volume that the service uses: the two must not run at the same time. */
  holdsVolume: Flag
  /** JSON of `ForeignState`, read just before the container is changed, so that it can be restored. */
  before: string | null
  /** `stopped`: by a deployment that does not serve yet. `handed_over`: the project has replaced it permanently. */
  state: 'untouched' | 'stopped' | 'handed_over'
  adoptedAt: Millis
}

export interface MigrationTables {
  adoptedContainers: AdoptedContainersTable
}

export type AdoptedContainerRow = Selectable<AdoptedContainersTable>
