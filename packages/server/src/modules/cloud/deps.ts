import type { Transfer } from '@berth/contract'
import type { CloudApi } from '../../drivers/cloud-api/cloud-api.ts'
import type { Caller } from '../../http/handler.ts'
import type { Awaitable } from '../../platform/awaitable.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/database.ts'
import type { UploadSessionRow } from '../../platform/db/tables/projects.ts'
import type { Log } from '../../platform/log.ts'
import type { Scrubber } from '../../platform/secrets/scrubber.ts'
import type { SecretBox } from '../../platform/secrets/secret-box.ts'

/** Uploads of this instance that may be forwarded to the cloud. */
export interface ForwardableUploads {
  find(
    sessionId: string,
    organizationId: string,
  ): Promise<Pick<UploadSessionRow, 'status' | 'sizeBytes' | 'cloudSessionId'> | undefined>
  /** Path of the tarball. */
  file(sessionId: string): string
  recordCloudSession(sessionId: string, cloudSessionId: string): Promise<unknown>
}

/** Functions of the transfers module, which is above this one. */
export interface TransferPorts {
  /** The transfer of the project that has not ended. */
  running?(organizationId: string, projectId: string): Promise<Pick<Transfer, 'id' | 'direction' | 'phase'> | undefined>
  /** Removes the copy of a project that was kept on this instance. */
  removeCopy?(projectId: string): Promise<void>
}

export interface CloudDeps {
  database: Database
  clock: Clock
  log: Log
  secretBox: SecretBox
  /** Redacts the link's token from the instance's own log. */
  scrubber: Scrubber
  api: CloudApi
  uploads: ForwardableUploads
  /** Set by the code that assembles the instance, once the transfers module exists; empty where no project runs. */
  transferPorts: TransferPorts
  /** Poll interval while a project is transferred. */
  pollMs: number
  isOperator(caller: Caller): Awaitable<boolean>
}
