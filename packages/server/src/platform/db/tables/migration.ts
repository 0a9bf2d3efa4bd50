import type { Selectable } from 'kysely'
import type { Flag, Millis } from '../columns.ts'

/** A container of a server that became a service of a project here. */
export interface AdoptedContainersTable {
  organizationId: string
  /** Through which it was adopted; another server of the organisation may be the same machine. */
  serverId: string
  containerId: string
  containerName: string
  projectId: string
  /** The service's name in the project. */
  service: string
  /** It holds a volume that the service uses: the two must not run at the same time. */
  holdsVolume: Flag
  /** JSON of `ForeignState`, looked up just before it is touched, to be given back. */
  before: string | null
  /** `stopped`: by a deployment that does not serve yet. `handed_over`: the project has replaced it for good. */
  state: 'untouched' | 'stopped' | 'handed_over'
  adoptedAt: Millis
}

export interface MigrationTables {
  adoptedContainers: AdoptedContainersTable
}

export type AdoptedContainerRow = Selectable<AdoptedContainersTable>
