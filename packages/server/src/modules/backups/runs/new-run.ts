import type { RunTrigger } from '@berth/contract'
import { newId } from '../../../platform/db/ids.ts'
import type { RunRow } from '../../../platform/db/tables/backups.ts'
import { type BackupsDeps, nowOf } from '../deps.ts'

export interface RunRequest {
  trigger: RunTrigger
  createdBy: string | null
}

type RunOwner = Pick<RunRow, 'organizationId' | 'policyId' | 'projectId' | 'projectName' | 'serviceId' | 'destinationId'>

/** The row of a queued run. */
export function newRun(
  { organizationId, policyId, projectId, projectName, serviceId, destinationId }: RunOwner,
  { trigger, createdBy }: RunRequest,
  deps: BackupsDeps,
): RunRow {
  const now = nowOf(deps)
  return {
    id: newId('bkr'),
    organizationId,
    policyId,
    projectId,
    projectName,
    serviceId,
    destinationId,
    status: 'queued',
    statusSince: now,
    trigger,
    createdBy,
    createdAt: now,
    startedAt: null,
    finishedAt: null,
    bytesTotal: null,
    bytesDone: 0,
    sizeBytes: null,
    protected: 0,
    protectedUntil: null,
    prunedAt: null,
    proven: 0,
    errorCode: null,
    errorMessage: null,
    warning: null,
    postCommandState: 'none',
    manifestName: null,
    manifestSha256: null,
    formerPolicyId: null,
    retainCount: null,
    retainDays: null,
    recipient: null,
    importedAt: null,
  }
}
