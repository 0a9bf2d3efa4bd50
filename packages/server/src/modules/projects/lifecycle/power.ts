import { EngineUnreachable } from '../../../drivers/runtime/engine-unreachable.ts'
import { ServerUnreachable } from '../../../drivers/shell/ssh/server-unreachable.ts'
import type { ProjectOperationRow, ProjectRow } from '../../../platform/db/tables/projects.ts'
import { fail } from '../../../platform/failure.ts'
import { job, sharedKind } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { nowOf, type ProjectsDeps } from '../deps.ts'
import { changeProject } from '../operations/change-project.ts'
import { leaseMs, runLeasedOperation, runWithLease } from '../operations/leased-operation.ts'
import { beginOperation, lockProject } from '../operations/operation.ts'
import { findAnyProject } from '../store.ts'

interface PowerPayload {
  projectId: string
}

/** Reconciles the running workload with the recorded state: the fallback if a process dies or a driver fails halfway. */
const reconcileKind = sharedKind<PowerPayload>('projects.settle-power')
const uniqueKey = (projectId: string) => `${reconcileKind.kind}:${projectId}`
const fallbackAfterMs = 60_000

/** Records the state before anything is stopped, so that no push starts a deployment in between; reverted when stopping fails. */
export async function disableProject(project: ProjectRow, deps: ProjectsDeps): Promise<ProjectRow> {
  const { row, operation, wasEnabled } = await recordState(project, 'disable', deps)
  await runWithLease(operation, deps, async () => {
    try {
      await deps.projectPorts.power?.takeOffline(project.id, disabledText)
    } catch (error) {
      deps.log.error({ err: error, projectId: project.id }, 'projects: stopping a project failed')
      // The reconcile job stays queued: part of the project may have stopped, and must match the recorded state again.
      if (wasEnabled) await changeProject(project, deps, () => ({ enabled: true }), { kind: 'enable' })
      const cause = error instanceof EngineUnreachable || error instanceof ServerUnreachable ? `. ${error.message}` : ''
      fail('unavailable', {
        message: `The project could not be stopped${wasEnabled ? ' and stays enabled' : ''}. Try again${cause}`,
      })
    }
    await cancelReconcile(project.id, false, deps)
  })
  return row
}

const disabledText = 'The project was disabled'

/** Deployments are allowed from the moment the state is recorded. A failed start shows as the project's status and is retried. */
export async function enableProject(project: ProjectRow, deps: ProjectsDeps): Promise<ProjectRow> {
  const { row, operation } = await recordState(project, 'enable', deps)
  await runWithLease(operation, deps, async () => {
    try {
      await deps.projectPorts.power?.bringOnline(project.id)
      await cancelReconcile(project.id, true, deps)
    } catch (error) {
      deps.log.error({ err: error, projectId: project.id }, 'projects: starting a project failed')
    }
  })
  return row
}

/** Does nothing while a restore or a transfer has stopped the project: that operation leaves the project in its correct state. */
export const powerJob = (deps: ProjectsDeps) =>
  job<PowerPayload, unknown>(reconcileKind, {
    deadlineMs: 10 * 60_000,
    async run({ projectId }) {
      await runLeasedOperation({ projectId, environment: null, kind: 'recover' }, deps, () => reconcilePower(projectId, deps))
    },
  })

async function reconcilePower(projectId: string, deps: ProjectsDeps): Promise<void> {
  const { power } = deps.projectPorts
  let isAppliedRunning: boolean | undefined
  // The recorded state may change while it is applied.
  for (;;) {
    const project = await findAnyProject(deps.database.db, projectId)
    if (!project || project.deletingSince !== null || isImporting(project)) return
    const isWantedRunning = shouldRun(project)
    if (isWantedRunning === isAppliedRunning) return
    if (isWantedRunning) await power?.bringOnline(projectId)
    else await power?.takeOffline(projectId, project.presence === 'here' ? disabledText : undefined)
    isAppliedRunning = isWantedRunning
  }
}

/** Records the state and begins the operation, in one transaction. */
async function recordState(project: ProjectRow, kind: 'enable' | 'disable', deps: ProjectsDeps) {
  const recorded: { operation?: ProjectOperationRow; wasEnabled: boolean } = { wasEnabled: false }
  const decide = async (current: ProjectRow, transaction: TransactionContext) => {
    recorded.wasEnabled = current.enabled === 1
    if (deps.projectPorts.power) await scheduleReconcile(current.id, transaction, new Date(nowOf(deps) + fallbackAfterMs))
    const operation = { projectId: current.id, environment: null, kind, heldUntil: nowOf(deps) + leaseMs }
    recorded.operation = (await beginOperation(operation, transaction, deps)).operation
    return recorded.wasEnabled === (kind === 'enable') ? null : { enabled: kind === 'enable' }
  }
  const row = await changeProject(project, deps, decide, { kind })
  return { row, wasEnabled: recorded.wasEnabled, operation: recorded.operation as ProjectOperationRow }
}

/** Cancels the reconcile job, unless a caller has recorded the opposite state meanwhile: then the job runs at once. */
async function cancelReconcile(projectId: string, enabled: boolean, deps: ProjectsDeps): Promise<void> {
  if (!deps.projectPorts.power) return
  await deps.database.transaction(async (transaction) => {
    await lockProject(transaction, projectId)
    const current = await findAnyProject(transaction.db, projectId)
    if (current && (current.enabled === 1) !== enabled) await scheduleReconcile(projectId, transaction, deps.clock.now())
    else await transaction.cancelJob({ uniqueKey: uniqueKey(projectId) })
  })
}

/** A project that is being imported is started by the import, once its data is complete. */
const isImporting = ({ presence }: ProjectRow): boolean => presence === 'arriving' || presence === 'landing'
const shouldRun = ({ enabled, presence }: ProjectRow): boolean => enabled === 1 && presence === 'here'

/** Reconciles the running workload with the project's presence, at once and one job after the other. */
export const reconcilePresence = (projectId: string, presence: ProjectRow['presence'], { enqueue }: TransactionContext) =>
  enqueue(
    reconcileKind.of({ projectId }),
    { projectId },
    { uniqueKey: `${uniqueKey(projectId)}:${presence}`, groupKey: uniqueKey(projectId) },
  )

const scheduleReconcile = (projectId: string, { enqueue }: TransactionContext, runAt: Date) =>
  enqueue(
    reconcileKind.of({ projectId }),
    { projectId },
    { uniqueKey: uniqueKey(projectId), groupKey: uniqueKey(projectId), runAt },
  )
