import type { DeletionItem } from '@berth/contract'
import type { EnvironmentRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { lockProject, refuseOperation } from '../operations/operation.ts'
import type { BlockingOperation, DeletionOptions, EnvironmentPart } from '../project-part.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import {
  deleteEnvironment,
  findAnyProject,
  findEnvironment,
  findProject,
  listVariables,
  markEnvironmentDeleting,
} from '../store.ts'
import { clearEnvironmentUpload } from '../uploads/upload-claim.ts'
import { blockedBy } from './deletion.ts'
import { createJoiningRunner } from './joining-runner.ts'
import { removedItem } from './project-items.ts'

interface RemovalPayload extends DeletionOptions {
  projectId: string
  environmentId: string
}

/**
 * Enqueued in the transaction that sets `deletingSince`, like the removal of a project: it continues after this process ends.
 */
const removal = sharedKind<RemovalPayload>('projects.remove-environment')
const uniqueKey = (environmentId: string) => `${removal.kind}:${environmentId}`
const fallbackAfterMs = 60_000

interface EnvironmentDeletionOptions extends DeletionOptions {
  force: boolean
  /** A pull request was closed: its preview shares no data with a restore or a transfer. */
  isAutomatic?: boolean
}

export interface EnvironmentDeletion {
  preview(environment: EnvironmentRow): Promise<{ items: DeletionItem[]; blockedBy: BlockingOperation[] }>
  remove(environment: EnvironmentRow, options: EnvironmentDeletionOptions): Promise<DeletionItem[]>
  job: ReturnType<typeof removalJob>
}

export function createEnvironmentDeletion(deps: ProjectsDeps): EnvironmentDeletion {
  const runOnce = createJoiningRunner()
  const removeOnce = (project: ProjectRow, environment: EnvironmentRow, options: DeletionOptions) =>
    runOnce(environment.id, () => removeAll(project, environment, options, deps))
  const projectOf = async ({ projectId }: EnvironmentRow) =>
    (await findAnyProject(deps.database.db, projectId)) ?? fail('not_found')
  return {
    async preview(environment) {
      refuseProduction(environment)
      return {
        items: await deletionItems(await projectOf(environment), environment, { deleteVolumes: false }, deps),
        blockedBy: await blockedBy({ projectId: environment.projectId, environment: environment.slug }, deps),
      }
    },
    async remove(environment, { force, deleteVolumes, isAutomatic = false }) {
      const options = { deleteVolumes }
      const project = await projectOf(environment)
      await markDeleting(project, environment, { ...options, force, isAutomatic }, deps)
      try {
        const items = await deletionItems(project, environment, options, deps)
        await removeOnce(project, environment, options)
        return items
      } catch (error) {
        return fail('unavailable', { message: 'Not everything could be removed yet. Berth keeps retrying.', cause: error })
      }
    },
    job: removalJob(deps, removeOnce),
  }
}

function refuseProduction({ slug }: EnvironmentRow): void {
  if (slug === 'production')
    fail('conflict', { message: 'The production environment cannot be deleted. Delete the project instead.' })
}

async function markDeleting(
  project: ProjectRow,
  environment: EnvironmentRow,
  { force, deleteVolumes, isAutomatic = false }: EnvironmentDeletionOptions,
  deps: ProjectsDeps,
): Promise<void> {
  refuseProduction(environment)
  await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, project.id)
    if (!(await findProject(transaction.db, project.organizationId, project.id))) fail('not_found')
    const current = (await findEnvironment(transaction.db, project.id, environment.slug)) ?? fail('not_found')
    if (current.id !== environment.id) fail('not_found')
    if (current.deletingSince !== null) fail('conflict', { message: 'The environment is already being deleted' })
    // With `force`, deployments of the environment are cancelled; other operations still refuse the deletion.
    const kind = force ? 'change' : 'delete'
    await refuseOperation({ projectId: project.id, environment: environment.slug, kind, isAutomatic }, transaction, deps)
    const now = nowOf(deps)
    await markEnvironmentDeleting(transaction.db, environment.id, now)
    const payload = { projectId: project.id, environmentId: environment.id, deleteVolumes }
    await transaction.enqueue(removal.of({ projectId: project.id }), payload, {
      uniqueKey: uniqueKey(environment.id),
      runAt: new Date(now + fallbackAfterMs),
    })
    transaction.signal(projectsTopic, { projectId: project.id } satisfies ProjectSignal)
  })
}

/** Removes the parts first and the environment's own rows last: while the row exists, the removal is incomplete. */
async function removeAll(
  project: ProjectRow,
  environment: EnvironmentRow,
  options: DeletionOptions,
  deps: ProjectsDeps,
): Promise<void> {
  for (const part of partsOf(deps)) await part.remove(project, environment.slug, options)
  await deps.database.transaction(async (transaction) => {
    await clearEnvironmentUpload(transaction, await findEnvironment(transaction.db, project.id, environment.id), deps)
    await deleteEnvironment(transaction.db, environment)
    await transaction.cancelJob({ uniqueKey: uniqueKey(environment.id) })
    transaction.signal(projectsTopic, { projectId: project.id } satisfies ProjectSignal)
  })
}

const removalJob = (
  deps: ProjectsDeps,
  removeOnce: (project: ProjectRow, environment: EnvironmentRow, options: DeletionOptions) => Promise<void>,
) =>
  job<RemovalPayload, unknown>(removal, {
    deadlineMs: 60 * 60_000,
    // A server may be unreachable for weeks; the removal is retried until it succeeds.
    maxAttempts: Number.MAX_SAFE_INTEGER,
    async run({ projectId, environmentId, deleteVolumes }) {
      const { db } = deps.database
      const project = await findAnyProject(db, projectId)
      const environment = project && (await findEnvironment(db, projectId, environmentId))
      if (environment?.deletingSince != null) await removeOnce(project as ProjectRow, environment, { deleteVolumes })
    },
  })

async function deletionItems(project: ProjectRow, environment: EnvironmentRow, options: DeletionOptions, deps: ProjectsDeps) {
  const { id, name, slug } = environment
  const partItems = await Promise.all(partsOf(deps).map((part) => part.previewDeletion(project, slug, options)))
  const variables = await listVariables(deps.database.db, project.id, slug)
  return [
    ...partItems.flat(),
    removedItem('environment', id, name),
    ...variables.map(({ key }) => removedItem('variable', `${slug}/${key}`, key)),
  ]
}

const partsOf = ({ projectPorts }: ProjectsDeps): EnvironmentPart[] =>
  (projectPorts.parts ?? []).flatMap(({ ofEnvironment }) => ofEnvironment ?? [])
