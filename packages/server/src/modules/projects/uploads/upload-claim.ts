import type { Db } from '../../../platform/db/schema.ts'
import type { EnvironmentRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import { sharedKind } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { isUploadProject } from '../source.ts'
import { changeEnvironment, saveProject } from '../store.ts'

/** Expiry of a session in use: the largest time that a Date can hold. */
export const neverExpires = 8_640_000_000_000_000

/** The project that uses the upload; a project that is being created has no id yet. */
interface UploadOwner {
  organizationId: string
  id: string | null
}

type ClaimDeps = Pick<ProjectsDeps, 'clock' | 'projectPorts'>

/**
 * Reserves a received upload before a project, an environment or a deployment refers to it: the sweep takes the same lock, and
 * sees the reference once this transaction is committed.
 */
export async function claimUpload(
  transaction: TransactionContext,
  sessionId: string,
  { organizationId, id }: UploadOwner,
  deps: Pick<ProjectsDeps, 'clock'>,
): Promise<void> {
  await transaction.lock(`upload:${sessionId}`)
  const session = await transaction.db
    .selectFrom('uploadSessions')
    .select('status')
    .where('id', '=', sessionId)
    .where('organizationId', '=', organizationId)
    .where(({ or, eb }) => or([eb('projectId', 'is', null), eb('projectId', '=', id)]))
    .where('expiresAt', '>', nowOf(deps))
    .executeTakeFirst()
  if (!session)
    fail('not_found', {
      field: 'uploadSessionId',
      message: 'The upload session does not exist or has expired. Upload the folder again.',
    })
  if (session.status !== 'received')
    fail('conflict', { field: 'uploadSessionId', message: 'This session has no upload yet. Upload the tarball first.' })
  await transaction.db.updateTable('uploadSessions').set({ expiresAt: neverExpires }).where('id', '=', sessionId).execute()
}

/** Makes the upload of a deployment the source of its environment, replacing the previous upload. */
export async function setEnvironmentUpload(
  transaction: TransactionContext,
  sessionId: string,
  { project, environment }: { project: ProjectRow; environment: EnvironmentRow },
  deps: ClaimDeps,
): Promise<void> {
  const isProjectSource = environment.slug === 'production' && isUploadProject(project)
  const before = isProjectSource ? project.uploadSessionId : environment.uploadSessionId
  if (isProjectSource) await saveProject(transaction.db, project.id, { gitProvider: 'upload', uploadSessionId: sessionId })
  else await changeEnvironment(transaction.db, environment.id, { uploadSessionId: sessionId })
  if (before && before !== sessionId) await releaseUpload(transaction, before, deps)
}

/** Releases the environment's upload, because another source was chosen. */
export async function clearEnvironmentUpload(
  transaction: TransactionContext,
  environment: EnvironmentRow | undefined,
  deps: ClaimDeps,
): Promise<void> {
  if (!environment?.uploadSessionId) return
  await changeEnvironment(transaction.db, environment.id, { uploadSessionId: null })
  await releaseUpload(transaction, environment.uploadSessionId, deps)
}

/** Removes a session that was released, with its tarball. */
export const removeUploadKind = sharedKind<{ sessionId: string }>('projects.remove-upload')

/**
 * Called after a reference was removed: an unreferenced session expires now. Its tarball is removed at once and not by the
 * hourly sweep: the quota does not count it, so a client that claims one upload after the other would fill the disk.
 */
export async function releaseUpload(transaction: TransactionContext, sessionId: string, deps: ClaimDeps): Promise<void> {
  await transaction.lock(`upload:${sessionId}`)
  if (await isReferenced(transaction.db, sessionId, deps)) return
  const released = await transaction.db
    .updateTable('uploadSessions')
    .set({ expiresAt: nowOf(deps) })
    .where('id', '=', sessionId)
    .where('expiresAt', '=', neverExpires)
    .returning('organizationId')
    .executeTakeFirst()
  if (released) await transaction.enqueue(removeUploadKind.of(released), { sessionId })
}

/** Sessions that no project and no environment refers to. */
export const unreferencedSessions = (db: Db) =>
  db
    .selectFrom('uploadSessions')
    .select('uploadSessions.id')
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('projects').select('projects.id').whereRef('projects.uploadSessionId', '=', 'uploadSessions.id'))),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('environments').select('environments.id').whereRef('environments.uploadSessionId', '=', 'uploadSessions.id'),
        ),
      ),
    )

/** Whether a project, an environment, or a deployment that can be rebuilt refers to the session. */
export async function isReferenced(
  db: Db,
  sessionId: string,
  { projectPorts }: Pick<ProjectsDeps, 'projectPorts'>,
): Promise<boolean> {
  const unreferenced = await unreferencedSessions(db).where('uploadSessions.id', '=', sessionId).executeTakeFirst()
  if (!unreferenced) return true
  return (await projectPorts.deployments?.listUsedUploads(db, [sessionId]))?.has(sessionId) ?? false
}

/** Whether another project refers to the session. */
export async function isReferencedByOther(
  db: Db,
  sessionId: string,
  projectId: string,
  { projectPorts }: Pick<ProjectsDeps, 'projectPorts'>,
): Promise<boolean> {
  const findOtherOwner = (table: 'projects' | 'environments', owner: 'projects.id' | 'environments.projectId') =>
    db.selectFrom(table).select(owner).where('uploadSessionId', '=', sessionId).where(owner, '!=', projectId).limit(1).execute()
  const [projects, environments, deployments] = await Promise.all([
    findOtherOwner('projects', 'projects.id'),
    findOtherOwner('environments', 'environments.projectId'),
    projectPorts.deployments?.listUsedUploads(db, [sessionId], { exceptProject: projectId }),
  ])
  return projects.length + environments.length + (deployments?.size ?? 0) > 0
}
