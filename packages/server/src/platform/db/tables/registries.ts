import type { Selectable } from 'kysely'
import type { Millis } from '../columns.ts'

/** How an organisation signs in at an image registry. */
export interface RegistryLoginsTable {
  id: string
  organizationId: string
  /** As image names spell it, in lower case; unique within the organisation. */
  host: string
  username: string
  /** Sealed for this row and this host. */
  password: string
  createdAt: Millis
  updatedAt: Millis
}

export interface RegistriesTables {
  registryLogins: RegistryLoginsTable
}

export type RegistryLoginRow = Selectable<RegistryLoginsTable>
