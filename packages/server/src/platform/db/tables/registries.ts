import type { Selectable } from 'kysely'
import type { Millis } from '../columns.ts'

/** An organisation's credentials for an image registry. */
export interface RegistryLoginsTable {
  id: string
  organizationId: string
  /** Registry host as in image names, in lower case; unique within the organisation. */
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
