import { type Awaitable, thenSync } from '../../../platform/awaitable.ts'
import { idListText, isInIdList } from '../../../platform/db/id-lists.ts'
import { groupRows, memoizeByRows } from '../../../platform/db/memoize-rows.ts'
import { preparedQuery } from '../../../platform/db/prepared.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { OperationPhase, ProjectOperationRow } from '../../../platform/db/tables/projects.ts'

/** SQL of operations that are under way. */

const operationsQuery = preparedQuery<{ projectId?: string; list?: string }, ProjectOperationRow>((db, { projectId, list }) => {
  const query = db.selectFrom('projectOperations').selectAll().orderBy('startedAt').orderBy('id')
  return list === undefined ? query.where('projectId', '=', projectId!) : query.where(isInIdList(db, 'projectId', list))
})

/** Operations of a project, oldest first. One whose lease has expired counts as ended: its process died. */
export async function listOperations(db: Db, projectId: string, now: number): Promise<ProjectOperationRow[]> {
  const rows = await operationsQuery.all(db, { projectId })
  return rows.filter(({ heldUntil }) => heldUntil === null || heldUntil > now)
}

/** Phases in which a project is stopped. */
export const stoppedPhases: readonly OperationPhase[] = ['stopped', 'undoing']

/** Restores and moves that have stopped their project. */
export async function listStopped(db: Db): Promise<{ projectId: string; kind: 'restore' | 'move' }[]> {
  const rows = await db
    .selectFrom('projectOperations')
    .select(['projectId', 'kind'])
    .where('phase', 'in', stoppedPhases)
    .execute()
  return rows.flatMap(({ projectId, kind }) => (kind === 'restore' || kind === 'move' ? [{ projectId, kind }] : []))
}

/** Operations of a page of projects. */
export function operationsOf(
  db: Db,
  projectIds: readonly string[],
): Awaitable<ReadonlyMap<string, readonly ProjectOperationRow[]>> {
  const [firstId, secondId] = projectIds
  if (firstId === undefined) return new Map()
  const parameters = secondId === undefined ? { projectId: firstId } : { list: idListText(projectIds) }
  return thenSync(operationsQuery.all(db, parameters), byProject)
}

const byProject = memoizeByRows((rows: readonly ProjectOperationRow[]) => groupRows(rows, ({ projectId }) => projectId))

export const insertOperation = (db: Db, row: ProjectOperationRow): Promise<unknown> =>
  db.insertInto('projectOperations').values(row).execute()

export const setPhase = (db: Db, id: string, phase: OperationPhase): Promise<unknown> =>
  db.updateTable('projectOperations').set({ phase }).where('id', '=', id).execute()

export const renewLease = (db: Db, id: string, heldUntil: number): Promise<unknown> =>
  db.updateTable('projectOperations').set({ heldUntil }).where('id', '=', id).execute()

export const findBySubject = (db: Db, subjectId: string): Promise<ProjectOperationRow | undefined> =>
  db.selectFrom('projectOperations').selectAll().where('subjectId', '=', subjectId).executeTakeFirst()

export const deleteOperation = (db: Db, id: string): Promise<unknown> =>
  db.deleteFrom('projectOperations').where('id', '=', id).execute()

export const deleteAllOperations = (db: Db, projectId: string): Promise<unknown> =>
  db.deleteFrom('projectOperations').where('projectId', '=', projectId).execute()

export const deleteExpired = (db: Db, now: number): Promise<unknown> =>
  db.deleteFrom('projectOperations').where('heldUntil', '<=', now).execute()
