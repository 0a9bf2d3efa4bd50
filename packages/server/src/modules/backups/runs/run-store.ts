import { type OrganizationRunsQuery, type RunStatus, runStatuses, runTransitions, sourcesOf, terminalRun } from '@berth/contract'
import type { Insertable, Updateable } from 'kysely'
import type { ArchivePart } from '../../../drivers/archive/archive.ts'
import { idsOrNone } from '../../../platform/db/id-lists.ts'
import { page } from '../../../platform/db/pages.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { ArtifactRow, BackupArtifactsTable, BackupRunsTable, RunRow } from '../../../platform/db/tables/backups.ts'
import { artifactIndex } from './artifact-index.ts'

/** SQL of runs and artifacts. */

export const unfinishedRuns: readonly RunStatus[] = runStatuses.filter((status) => !terminalRun.has(status))

export const findRunOf = (db: Db, organizationId: string, id: string): Promise<RunRow | undefined> =>
  db.selectFrom('backupRuns').selectAll().where('id', '=', id).where('organizationId', '=', organizationId).executeTakeFirst()

export const findRun = (db: Db, id: string): Promise<RunRow | undefined> =>
  db.selectFrom('backupRuns').selectAll().where('id', '=', id).executeTakeFirst()

/** The runs of one project, or of an organisation including its deleted projects. */
type RunScope = { projectId: string } | { organizationId: string; projectIds: ReadonlySet<string> | null }

export function listRuns(db: Db, scope: RunScope, { limit = 100, cursor, policyId, status, projectId }: OrganizationRunsQuery) {
  let query = db.selectFrom('backupRuns').selectAll()
  if ('projectId' in scope) query = query.where('projectId', '=', scope.projectId)
  else {
    query = query.where('organizationId', '=', scope.organizationId)
    if (scope.projectIds) query = query.where('projectId', 'in', idsOrNone(scope.projectIds))
    if (projectId !== undefined) query = query.where('projectId', '=', projectId)
  }
  if (policyId !== undefined) query = query.where('policyId', '=', policyId)
  if (status !== undefined) query = query.where('status', '=', status)
  return page(query, { limit, cursor, by: ['createdAt', 'id'], direction: 'desc' })
}

export const listUnfinished = (db: Db, projectId: string): Promise<RunRow[]> =>
  db.selectFrom('backupRuns').selectAll().where('projectId', '=', projectId).where('status', 'in', unfinishedRuns).execute()

/** The oldest run of a policy in one of these statuses, except safety runs. */
export const findUnfinished = (
  db: Db,
  policyId: string,
  statuses: readonly RunStatus[] = unfinishedRuns,
): Promise<RunRow | undefined> =>
  db
    .selectFrom('backupRuns')
    .selectAll()
    .where('policyId', '=', policyId)
    .where('status', 'in', statuses)
    .where('trigger', 'not in', ['pre_restore', 'pre_deploy'])
    .orderBy('createdAt')
    .orderBy('id')
    .executeTakeFirst()

export const allRuns = (db: Db, projectId: string): Promise<RunRow[]> =>
  db.selectFrom('backupRuns').selectAll().where('projectId', '=', projectId).orderBy('createdAt').execute()

/** Undefined when the policy already has a queued run. */
export const insertRun = (db: Db, row: Insertable<BackupRunsTable>): Promise<RunRow | undefined> =>
  db
    .insertInto('backupRuns')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()

/** Changes a run's status atomically; no other query does. Undefined when the transition is not allowed: terminal is final. */
export const moveRunTo = (
  db: Db,
  id: string,
  to: RunStatus,
  changes: Updateable<BackupRunsTable> = {},
): Promise<RunRow | undefined> =>
  db
    .updateTable('backupRuns')
    .set({ ...changes, status: to })
    .where('id', '=', id)
    .where('status', 'in', sourcesOf(runTransitions, to))
    .returningAll()
    .executeTakeFirst()

/** Updates columns other than the status. */
export const updateRun = (db: Db, id: string, changes: Omit<Updateable<BackupRunsTable>, 'status' | 'id'>) =>
  db.updateTable('backupRuns').set(changes).where('id', '=', id).execute()

export async function hasRuns(db: Db, organizationId: string, projectId: string): Promise<boolean> {
  const query = db.selectFrom('backupRuns').select('id').where('projectId', '=', projectId)
  return (await query.where('organizationId', '=', organizationId).limit(1).executeTakeFirst()) !== undefined
}

// Artifacts

/** An artifact without its index, which may be long. */
export type ArtifactFacts = Omit<ArtifactRow, 'index'>
const artifactColumns = [
  'id',
  'runId',
  'destinationId',
  'name',
  'kind',
  'reused',
  'sizeBytes',
  'sha256',
  'details',
  'position',
  'damaged',
] as const

export async function artifactsOfAll(db: Db, runIds: readonly string[]): Promise<Map<string, ArtifactFacts[]>> {
  if (runIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('backupArtifacts')
    .select(artifactColumns)
    .where('runId', 'in', [...runIds])
    .orderBy('position')
    .execute()
  return Map.groupBy(rows, ({ runId }) => runId)
}

export const artifactsOf = (db: Db, runId: string): Promise<ArtifactRow[]> =>
  db.selectFrom('backupArtifacts').selectAll().where('runId', '=', runId).orderBy('position').execute()

export const insertArtifact = (db: Db, row: Insertable<BackupArtifactsTable>) =>
  db.insertInto('backupArtifacts').values(row).execute()

export const deleteArtifacts = (db: Db, runId: string) => db.deleteFrom('backupArtifacts').where('runId', '=', runId).execute()

type StoredRun = Pick<RunRow, 'id' | 'projectId' | 'destinationId'>

/**
 * Artifacts of stored runs, without the index: that of a large volume takes many megabytes, so indexes are read one at a time.
 */
const storedArtifactsOf = (db: Db, { projectId, destinationId }: StoredRun) =>
  db
    .selectFrom('backupArtifacts')
    .innerJoin('backupRuns', 'backupRuns.id', 'backupArtifacts.runId')
    .select(['backupArtifacts.id', 'backupArtifacts.runId'])
    .where('backupRuns.prunedAt', 'is', null)
    .where('backupRuns.projectId', '=', projectId)
    .where('backupRuns.destinationId', '=', destinationId)

async function* readIndexes(db: Db, artifacts: readonly { id: string; runId: string }[]) {
  for (const { id, runId } of artifacts) {
    const row = await db.selectFrom('backupArtifacts').select(['id', 'index']).where('id', '=', id).executeTakeFirst()
    if (row) yield { id, runId, parts: artifactIndex(row).parts }
  }
}

/** A run's index names every part it relies on, so the newest few cover nearly all stored parts. */
const earlierArtifacts = 20

/** Parts of the newest successful, undamaged artifacts at the same destination. */
export async function* earlierParts(db: Db, run: StoredRun): AsyncGenerator<ArchivePart> {
  const rows = await storedArtifactsOf(db, run)
    .where('backupRuns.status', '=', 'succeeded')
    .where('backupArtifacts.damaged', '=', 0)
    .orderBy('backupRuns.createdAt', 'desc')
    .limit(earlierArtifacts)
    .execute()
  for await (const { parts } of readIndexes(db, rows)) yield* parts
}

/** Names of parts that other runs at the destination, stored or under way, rely on. */
export async function listUsedPartNames(db: Db, run: StoredRun): Promise<Set<string>> {
  const rows = await storedArtifactsOf(db, run)
    .where('backupRuns.id', '!=', run.id)
    .where('backupRuns.status', 'in', ['succeeded', ...unfinishedRuns])
    .execute()
  const names = new Set<string>()
  for await (const { parts } of readIndexes(db, rows)) for (const { name } of parts) names.add(name)
  return names
}

/**
 * Flags artifacts that contain the part as damaged, so that they are not reused. Returns their runs; empty where all were
 * flagged before.
 */
export async function flagDamaged(db: Db, run: StoredRun, part: string): Promise<string[]> {
  const rows = await storedArtifactsOf(db, run)
    .where('backupRuns.status', '=', 'succeeded')
    .where('backupArtifacts.damaged', '=', 0)
    .execute()
  const runIds = new Set<string>()
  for await (const { id, runId, parts } of readIndexes(db, rows)) {
    if (!parts.some(({ name }) => name === part)) continue
    runIds.add(runId)
    await db.updateTable('backupArtifacts').set({ damaged: true }).where('id', '=', id).execute()
  }
  if (runIds.size > 0)
    await db
      .updateTable('backupRuns')
      .set({ proven: false })
      .where('id', 'in', [...runIds])
      .execute()
  return [...runIds]
}
