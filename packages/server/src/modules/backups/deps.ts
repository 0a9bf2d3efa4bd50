import type { BackupDestination } from '@berth/contract'
import type { Archives } from '../../drivers/archive/archive.ts'
import type { ArchiveStores } from '../../drivers/archive-store/archive-store.ts'
import type { Caller } from '../../http/handler.ts'
import type { Awaitable } from '../../platform/awaitable.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { Db } from '../../platform/db/schema.ts'
import type { Log } from '../../platform/log.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'
import type { ProjectData } from '../deployments/index.ts'
import type { SavedProject, SavedUpload } from '../projects/index.ts'
import type { InstanceArchive } from './instance-archive.ts'

export interface BackupsSettings {
  mode: 'self-hosted' | 'cloud'
  /** Folders below which a local destination may be. */
  backupRoots: readonly string[]
  /** Maximum concurrent runs of this control plane. */
  maxBackups: number
}

export interface BackupsDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  scrubber: Pick<Scrubber, 'register'>
  settings: BackupsSettings
  stores: ArchiveStores
  /** Opened on first use: the key is generated then. */
  archives(): Promise<Archives>
  instanceArchive: InstanceArchive
  data: ProjectData
  projects: {
    save(projectId: string): Promise<SavedProject | undefined>
    /** Returns a warning for each part that was not restored. */
    restore(saved: SavedProject, organizationId: string): Promise<string[]>
    /** Undefined where the project exists. */
    previewRestore(
      saved: SavedProject,
      organizationId: string,
    ): Promise<{ items: { kind: string; name: string }[]; warnings: string[] } | undefined>
    uploadOf(projectId: string): Promise<SavedUpload | undefined>
    isUploadMissing(saved: SavedProject): Promise<boolean>
    restoreUpload(saved: SavedProject, organizationId: string, content: () => AsyncIterable<Uint8Array>): Promise<void>
  }
  /** Set by the code that assembles the instance, once the modules above this one exist. */
  ports: {
    /** Whether the project was moved away from this instance and has not come back. */
    wasTransferredAway?(db: Db, projectId: string): Promise<boolean>
    /** Starts a policy's run in a linked cloud by its webhook token; null where no cloud knows the token. */
    runInCloud?(webhookToken: string): Promise<string | null>
    /** A page of the destinations that a policy of a project in the linked cloud may use; null where there is no such project. */
    destinationsInCloud?(
      organizationId: string,
      query: { projectId: string; limit?: number; cursor?: string },
    ): Promise<{ data: BackupDestination[]; nextCursor: string | null } | null>
  }
  version: string
  /** Whether the caller is an operator of this instance. */
  isOperator(caller: Caller): Awaitable<boolean>
}

export const nowOf = ({ clock }: Pick<BackupsDeps, 'clock'>): number => clock.now().getTime()
