import type { Selectable } from 'kysely'
import type { Flag, Millis } from '../columns.ts'

/** A machine that is reached over SSH, where projects may run. */
export interface ServersTable {
  id: string
  organizationId: string
  name: string
  host: string
  port: number
  user: string
  authentication: 'privateKey' | 'password' | 'none'
  /** The key or the password, sealed; null with `none`. */
  credential: string | null
  dockerSocket: string
  /** The fingerprint pinned at the first contact, and the kind of that key. */
  hostKey: string | null
  hostKeyType: string | null
  /** An operator set the address, so it may be this machine itself. */
  mayBeHere: Flag
  status: 'unknown' | 'reachable' | 'unreachable'
  statusReason: string | null
  checkedAt: Millis | null
  createdAt: Millis
  updatedAt: Millis
}

export interface ServersTables {
  servers: ServersTable
}

export type ServerRow = Selectable<ServersTable>
