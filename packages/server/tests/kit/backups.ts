import { newId } from '../../src/platform/db/ids.ts'
import type { RestoreRow, RunRow } from '../../src/platform/db/tables/backups.ts'
import type { TestInstance } from './instance.ts'
import type { People } from './people.ts'

interface ProjectOwner {
  people: Pick<People, 'organizationId'>
  projectId: string
}

/** Inserts the row of a run that has just failed, without stored data. */
export function makeRun(
  { database: { db } }: Pick<TestInstance, 'database'>,
  { people, projectId, ...given }: ProjectOwner & Partial<RunRow>,
): Promise<RunRow> {
  const now = Date.now()
  return db
    .insertInto('backupRuns')
    .values({
      id: newId('bkr'),
      organizationId: people.organizationId,
      policyId: null,
      projectId,
      projectName: 'Shop',
      serviceId: null,
      destinationId: null,
      status: 'failed',
      statusSince: now,
      trigger: 'manual',
      createdBy: null,
      createdAt: now,
      startedAt: now,
      finishedAt: now,
      bytesTotal: null,
      bytesDone: 0,
      sizeBytes: null,
      protected: 0,
      protectedUntil: null,
      prunedAt: null,
      proven: 0,
      errorCode: null,
      errorMessage: null,
      postCommandState: 'none',
      manifestName: null,
      manifestSha256: null,
      formerPolicyId: null,
      retainCount: null,
      retainDays: null,
      recipient: null,
      ...given,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Inserts the row of a restore that was just cancelled. */
export function makeRestore(
  { database: { db } }: Pick<TestInstance, 'database'>,
  { people, projectId, ...given }: ProjectOwner & Partial<RestoreRow> & Pick<RestoreRow, 'runId'>,
): Promise<RestoreRow> {
  const now = Date.now()
  return db
    .insertInto('backupRestores')
    .values({
      id: newId('rst'),
      organizationId: people.organizationId,
      projectId,
      target: 'in_place',
      status: 'cancelled',
      statusSince: now,
      tokenHash: null,
      verification: 'pending',
      verifiedBytes: 0,
      verifyBytesTotal: null,
      report: null,
      bytesTotal: null,
      bytesDone: 0,
      preRestoreRunId: null,
      dataState: 'untouched',
      progressNote: null,
      cancelRequested: 0,
      errorCode: null,
      errorMessage: null,
      createdBy: null,
      createdAt: now,
      startedAt: null,
      finishedAt: now,
      ...given,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}
