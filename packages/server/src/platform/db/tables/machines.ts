import type { Millis } from '../columns.ts'

/** The machine that runs projects on this database: at most one row. Processes with `BERTH_ROLE=api` have none. */
export interface MachinesTable {
  /** The id in the machine's data folder. */
  id: string
  hostname: string
  dataDir: string
  role: 'all' | 'worker'
  /** Identifies the file of the id on this boot of the kernel: a copy of the data folder is at another location. */
  location: string
  /** The process that holds the id; null after it was stopped in order. */
  sessionToken: string | null
  startedAt: Millis
  /** Runtime of its projects; null until it has started. */
  runtime: 'docker' | 'process' | null
  isolationKind: 'docker' | 'bubblewrap' | 'own-users' | 'none' | null
  isolationMessage: string | null
  /** Time of the last heartbeat, by the database's clock. */
  seenAt: Millis
}

export interface MachinesTables {
  machines: MachinesTable
}
