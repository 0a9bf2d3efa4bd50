import type { Selectable } from 'kysely'
import type { Flag, Millis } from '../columns.ts'

/** A container of a server that became a service of a project here. */
export interface AdoptedContainersTable {
  serverId: string
  containerId: string
  containerName: string
  projectId: string
  /** The service's name in the project. */
  service: string
  /** It holds a volume that the service uses: the two must not run at the same time. */
  holdsVolume: Flag
  /** Its restart policy of before, to be given back. */
  restart: string
  /** `running`: untouched. `stopped`: a deployment of ours stopped it. `handed_over`: the service runs here for good. */
  state: 'running' | 'stopped' | 'handed_over'
  adoptedAt: Millis
}

export interface MigrationTables {
  adoptedContainers: AdoptedContainersTable
}

export type AdoptedContainerRow = Selectable<AdoptedContainersTable>
