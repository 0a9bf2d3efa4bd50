import type { DeletionItem } from '@berth/contract'
import { newId } from '../../../platform/db/ids.ts'
import type { Db } from '../../../platform/db/schema.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { updateProjectWebhook } from '../hostnames/delivery-address.ts'
import { linksTo } from '../link-store.ts'
import { logsPart } from '../logs/logs.ts'
import { filterByRule } from '../operations/conflict-table.ts'
import { lockProject, refuseOperation, waitUntilNoLeases } from '../operations/operation.ts'
import { deleteAllOperations, insertOperation, listOperations } from '../operations/operation-store.ts'
import { showOperation } from '../operations/operation-text.ts'
import type { BlockingOperation, DeletionOptions } from '../project-part.ts'
import { type ProjectSignal, projectsTopic } from '../project-signal.ts'
import { projectSlugs } from '../public-queries.ts'
import { allEnvironments, deleteProject, findAnyProject, findProject, saveProject } from '../store.ts'
import { releaseUpload } from '../uploads/upload-claim.ts'
import { createJoiningRunner } from './joining-runner.ts'
import { projectItems } from './project-items.ts'

interface RemovalPayload extends DeletionOptions {
  projectId: string
}

/** Enqueued in the transaction that sets `deletingSince`: the removal continues also after this process or the request ends. */
const removal = sharedKind<RemovalPayload>('projects.remove')
const uniqueKey = (projectId: string) => `${removal.kind}:${projectId}`
const fallbackAfterMs = 60_000
/** Longest wait for a start that is in progress, before its instance is stopped. */
const maxStartWaitMs = 30_000

export interface Deletion {
  preview(project: ProjectRow): Promise<{ items: DeletionItem[]; blockedBy: BlockingOperation[] }>
  remove(project: ProjectRow, options: DeletionOptions & { force: boolean }): Promise<DeletionItem[]>
  /** Removes the copy that was kept when the project was transferred away, with its volumes. */
  removeKept(project: ProjectRow): Promise<void>
  job: ReturnType<typeof removalJob>
}

export function createDeletion(deps: ProjectsDeps): Deletion {
  const runOnce = createJoiningRunner()
  const removeOnce = (project: ProjectRow, options: DeletionOptions) =>
    runOnce(project.id, () => removeAll(project, options, deps))
  return {
    preview: async (project) => ({
      items: await deletionItems(project, { deleteVolumes: false }, deps),
      blockedBy: await blockedBy({ projectId: project.id, environment: null }, deps),
    }),
    async remove(project, { force, deleteVolumes }) {
      const options = { deleteVolumes }
      await markDeleting(project, { ...options, force }, deps)
      try {
        const items = await deletionItems(project, options, deps)
        await removeOnce(project, options)
        return items
      } catch (error) {
        return fail('unavailable', { message: 'Not everything could be removed yet. Berth keeps retrying.', cause: error })
      }
    },
    removeKept: (project) => removeOnce(project, { deleteVolumes: true }),
    job: removalJob(deps, removeOnce),
  }
}

/**
 * Marks the project as being deleted: no change and no operation begins after it. The removal job is enqueued in case this
 * process dies.
 */
async function markDeleting(
  project: ProjectRow,
  options: DeletionOptions & { force: boolean },
  deps: ProjectsDeps,
): Promise<void> {
  const { force, deleteVolumes } = options
  await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, project.id)
    const current = (await findProject(transaction.db, project.organizationId, project.id)) ?? fail('not_found')
    if (!force || current.deletingSince !== null)
      await refuseOperation({ projectId: project.id, environment: null, kind: 'delete' }, transaction, deps)
    if (!force) await refuseLinked(project, transaction.db)
    await enqueueRemoval(project.id, { deleteVolumes }, nowOf(deps), transaction, fallbackAfterMs)
  })
}

/** A linked service is deleted with `force` only: the projects that use it lose it with their next connection. */
async function refuseLinked({ id, name }: ProjectRow, db: Db): Promise<void> {
  const slugs = await projectSlugs(
    db,
    (await linksTo(db, id)).flatMap(({ projectId }) => (projectId === id ? [] : projectId)),
  )
  if (slugs.length > 0)
    fail('conflict', {
      message: `${name} is linked to ${slugs.slice(0, 5).join(', ')}${slugs.length > 5 ? ` and ${slugs.length - 5} more` : ''}. Delete the links first, or delete it with force=true.`,
    })
}

export async function enqueueRemoval(
  projectId: string,
  options: DeletionOptions,
  now: number,
  transaction: TransactionContext,
  afterMs = 0,
): Promise<void> {
  await saveProject(transaction.db, projectId, { deletingSince: now, updatedAt: now })
  const operation = { id: newId('opr'), projectId, environment: null, kind: 'delete', phase: 'running' } as const
  await insertOperation(transaction.db, { ...operation, subjectId: projectId, startedAt: now, heldUntil: null })
  await transaction.enqueue(
    removal.of({ projectId }),
    { projectId, ...options },
    { uniqueKey: uniqueKey(projectId), runAt: new Date(now + afterMs) },
  )
  transaction.signal(projectsTopic, { projectId } satisfies ProjectSignal)
}

/** Removes the parts in order, and the project's own rows last: while the project row exists, the removal is incomplete. */
async function removeAll(project: ProjectRow, options: DeletionOptions, deps: ProjectsDeps): Promise<void> {
  await waitUntilNoLeases(project.id, deps, maxStartWaitMs)
  for (const part of partsOf(deps)) {
    await part.remove(project, options).catch((error: unknown) => {
      throw new Error(`${part.describe} of ${project.id} could not be removed`, { cause: error })
    })
  }
  await deps.database.transaction(async (transaction) => {
    const environments = await allEnvironments(transaction.db, project.id)
    if (project.webhookDomain !== null) await updateProjectWebhook(project, transaction)
    await deleteProject(transaction.db, project.id)
    for (const { uploadSessionId } of [project, ...environments])
      if (uploadSessionId) await releaseUpload(transaction, uploadSessionId, deps)
    await deleteAllOperations(transaction.db, project.id)
    await transaction.cancelJob({ uniqueKey: uniqueKey(project.id) })
    transaction.signal(projectsTopic, { projectId: project.id, gone: true } satisfies ProjectSignal)
  })
}

const removalJob = (deps: ProjectsDeps, removeOnce: (project: ProjectRow, options: DeletionOptions) => Promise<void>) =>
  job<RemovalPayload, unknown>(removal, {
    deadlineMs: 60 * 60_000,
    // A server may be unreachable for weeks; the removal is retried until it succeeds.
    maxAttempts: Number.MAX_SAFE_INTEGER,
    async run({ projectId, deleteVolumes }) {
      const project = await findAnyProject(deps.database.db, projectId)
      if (project) await removeOnce(project, { deleteVolumes })
    },
  })

async function deletionItems(project: ProjectRow, options: DeletionOptions, deps: ProjectsDeps): Promise<DeletionItem[]> {
  const partItems = await Promise.all(partsOf(deps).map((part) => part.previewDeletion(project, options)))
  return [...partItems.flat(), ...(await projectItems(project, deps))]
}

/** Operations that refuse the deletion of a project, or of one environment of it. */
export async function blockedBy(
  { projectId, environment }: { projectId: string; environment: string | null },
  deps: ProjectsDeps,
): Promise<BlockingOperation[]> {
  const running = await listOperations(deps.database.db, projectId, nowOf(deps))
  return filterByRule({ kind: 'delete', environment }, running, 'refuse').map(showOperation)
}

/** Logs last: every other part may write to them until it is removed. */
const partsOf = (deps: ProjectsDeps) => [...(deps.projectPorts.parts ?? []), logsPart(deps)]
