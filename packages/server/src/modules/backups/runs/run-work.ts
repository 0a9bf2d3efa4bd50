import type { BackupPayload } from '@berth/contract'
import type { Archives } from '../../../drivers/archive/archive.ts'
import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import type { PolicyRow, RunRow } from '../../../platform/db/tables/backups.ts'
import type { BackupsDeps } from '../deps.ts'

export type RunSettings = Pick<PolicyRow, 'preCommand' | 'postCommand'> & { payload: BackupPayload }

/** What every step of a run works with. */
export interface Work {
  run: RunRow
  /** Null for the first one. Later ones have names of their own: one that was thought dead may still be writing. */
  attempt: string | null
  settings: RunSettings
  store: ArchiveStore
  archives: Archives
  deps: BackupsDeps
  abort: AbortSignal
}
