import type { BackupPayload } from '@berth/contract'
import type { Archives } from '../../../drivers/archive/archive.ts'
import type { ArchiveStore } from '../../../drivers/archive-store/archive-store.ts'
import type { PolicyRow, RunRow } from '../../../platform/db/tables/backups.ts'
import type { BackupsDeps } from '../deps.ts'

export type RunSettings = Pick<PolicyRow, 'preCommand' | 'postCommand'> & { payload: BackupPayload }

/** Context of every step of a run. */
export interface RunContext {
  run: RunRow
  /** Null for the first attempt. Later attempts have their own names: one that was presumed dead may still be writing. */
  attempt: string | null
  settings: RunSettings
  store: ArchiveStore
  archives: Archives
  deps: BackupsDeps
  abort: AbortSignal
}
