import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '@berth/contract'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { isDatabaseUnavailable } from '../../../platform/db/unavailable.ts'
import { isDiskFull } from '../../../platform/disk-full.ts'
import { JobAborted, job } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { endOperation, enterDiscarding, findAnyProject, findBySubject, lockProject, startIfReady } from '../../projects/index.ts'
import { beginDeploying, build } from '../build/build.ts'
import { fetchSource } from '../build/fetch-source.ts'
import { cleanUpKind } from '../data/clean-up.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { type DeploymentLog, deploymentTopic, openDeploymentLog } from '../deployment-log.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { listInstances } from '../instance-store.ts'
import { storedPlan } from '../plan/deployed.ts'
import { loadEnv } from '../plan/snapshot.ts'
import { withUnsetVariables } from '../plan/unset-variables.ts'
import { restoreReplacedInstances } from '../power/power.ts'
import { type DeployPayload, deployKind } from '../request/request-deployment.ts'
import { stopInstances } from '../run/run-units.ts'
import { rollbackTakeover } from '../run/takeover.ts'
import type { DeployStep, StepContext } from '../step.ts'
import { findDeployment, transitionDeployment } from '../store.ts'
import { drain, retire } from './drain.ts'
import { healthCheck } from './health-check.ts'
import { makePlan } from './make-plan.ts'
import { runStep } from './on-server.ts'
import { start } from './start.ts'
import { stopOldContainers } from './stop-old-containers.ts'
import { restoreRoute, switchRoute } from './switch-route.ts'

const buildSteps: readonly DeployStep[] = [fetchSource, makePlan, build]
const deploySteps: readonly DeployStep[] = [start, healthCheck, switchRoute, stopOldContainers, drain, retire]

/** Runs one deployment from source to route. The job may run twice: each step knows whether it was completed before. */
export const deployJob = (deps: DeploymentsDeps) =>
  job<DeployPayload, unknown>(deployKind, {
    deadlineMs: 2 * 60 * 60_000,
    maxAttempts: 10,
    concurrency: deps.settings.maxBuilds,
    run: ({ deploymentId }, _deps, abort) => deploy(deploymentId, deps, abort),
    onFailed: async ({ deploymentId }, { message, attempts }) => {
      const deployment = await findDeployment(deps.database.db, deploymentId)
      deps.log.error({ deploymentId, message, attempts }, 'deployments: deploy job failed, all attempts used up')
      if (deployment) await endFailed(deployment, new DeployFailed('gave_up', interruptedMessage(attempts)), deps)
    },
  })

/** Omits the error itself, which may contain a table name or a path. */
const interruptedMessage = (attempts: number) =>
  `The deployment was interrupted ${attempts} times. The log of the instance has the details. Deploy again.`

async function deploy(deploymentId: string, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const found = await findDeployment(db, deploymentId)
  if (!found) return
  const hasEnded = found.status === 'failed' || found.status === 'cancelled' || found.status === 'superseded'
  const project = await findAnyProject(db, found.projectId)
  if (hasEnded || !project) return discard(found, deps)
  // The deployment waits for a restore or a transfer, and is queued again when that ends.
  if (!(await mayStart(found, deps))) return
  const updated = await transitionDeployment(db, deploymentId, 'building', { startedAt: found.startedAt ?? nowOf(deps) })
  const row = updated ?? found
  const log = await openDeploymentLog(row, deps)
  try {
    const { deployment, env } = await loadEnv(row, deps)
    const folder = folderOf(deployment, deps)
    const context = await runSteps(buildSteps, { deployment, project, folder, env, log, abort, deps, shared: {} })
    if (await isImporting(project.id, deps)) return log.line('Built. It starts when its data has been imported.')
    const { status } = context.deployment
    if (status !== 'live' && status !== 'deploying' && !(await beginDeploying(context)))
      throw new DeployFailed('cancelled', 'The deployment was cancelled')
    deps.database.signals.publish(deploymentTopic(deploymentId), { changed: true })
    await runSteps(deploySteps, context)
    await deps.database.transaction((transaction) => cleanUpSoon(project.id, transaction))
    await rm(folder, { recursive: true, force: true })
  } catch (error) {
    if (isInterrupted(abort, error)) throw error
    await endFailed(row, error, deps, log)
  } finally {
    await log.flush()
    deps.database.signals.publish(deploymentTopic(deploymentId), { changed: true })
  }
}

async function mayStart({ id, projectId }: DeploymentRow, deps: DeploymentsDeps): Promise<boolean> {
  const operation = await findBySubject(deps.database.db, id)
  if (operation?.phase !== 'waiting') return true
  return deps.database.transaction(async (transaction) => {
    await lockProject(transaction, projectId)
    return startIfReady(id, transaction, deps)
  })
}

/** True while the project still runs on its old instance; the transfer continues this deployment at the cutover. */
const isImporting = async (projectId: string, { database: { db } }: DeploymentsDeps): Promise<boolean> =>
  (await findAnyProject(db, projectId))?.presence === 'arriving'

/** Whether the job was interrupted by its surroundings (no database, shutdown, lost lease) and runs again. */
const isInterrupted = (abort: AbortSignal, error: unknown) =>
  isDatabaseUnavailable(error) ||
  (abort.aborted &&
    abort.reason instanceof JobAborted &&
    (abort.reason.reason === 'shutdown' || abort.reason.reason === 'lease_lost'))

/** Returns the context with the newest row. */
async function runSteps(steps: readonly DeployStep[], initial: StepContext): Promise<StepContext> {
  let context = initial
  for (const step of steps) {
    if (step.isDone?.(context)) {
      await step.completeDone?.(context)
      await context.log.skipped(step.name)
      continue
    }
    const limit = AbortSignal.timeout(step.deadlineMs)
    await context.log.step(step.name, 'running')
    try {
      const changed = await runStep(step, { ...context, abort: AbortSignal.any([context.abort, limit]) })
      if (changed) context = { ...context, deployment: changed }
      await context.log.step(step.name, 'succeeded')
    } catch (error) {
      if (isInterrupted(context.abort, error)) throw error
      const isCancelled = context.abort.aborted
      await context.log.step(step.name, isCancelled ? 'cancelled' : 'failed')
      if (limit.aborted && !isCancelled)
        throw new DeployFailed('timed_out', `The step ${step.name} took longer than ${Math.round(step.deadlineMs / 60_000)} min`)
      throw error
    }
  }
  return context
}

/**
 * Ends a failed deployment: the previous one keeps serving and all traces are removed. A late success never overwrites a
 * cancellation.
 */
async function endFailed(deployment: DeploymentRow, error: unknown, deps: DeploymentsDeps, log?: DeploymentLog) {
  const current = await findDeployment(deps.database.db, deployment.id)
  if (!current || current.status === 'live' || current.status === 'superseded') {
    // It already serves; only steps after the switch failed, and the next start repeats them.
    deps.log.warn({ err: error, deploymentId: deployment.id }, 'deployments: final steps of a live deployment failed')
    return
  }
  const plan = storedPlan(current)
  const installCommands = plan?.units.map(({ build }) => build?.installCommand ?? null)
  const failure = withUnsetVariables(failureOf(error, current, deps), plan?.unsetVariables, installCommands)
  log?.line(failure.message)
  const failed = await recordFailure(current, failure, deps, log)
  if (failed || current.status === 'cancelled' || current.status === 'failed') await discard(current, deps)
}

/** The failure to record. A step interrupted by a cancellation may end with any error. */
function failureOf(error: unknown, { id, status }: DeploymentRow, deps: DeploymentsDeps): DeployFailed {
  if (error instanceof DeployFailed) return error
  if (status === 'cancelled') return new DeployFailed('cancelled', 'The deployment was cancelled')
  if (isDiskFull(error)) return new DeployFailed('storage_full', messageOf('storage_full'))
  deps.log.error({ err: error, deploymentId: id }, 'deployments: unexpected error')
  return new DeployFailed('internal', 'Internal error. The log of the instance has the details.')
}

async function recordFailure(
  deployment: DeploymentRow,
  failure: DeployFailed,
  deps: DeploymentsDeps,
  log?: { tail(count: number): string[] },
) {
  // The message may contain output of the project: scrub it.
  const { scrub } = await deps.scrubbers.of(deployment.projectId)
  const logTail = (failure.logTail.length > 0 ? failure.logTail : (log?.tail(20) ?? [])).map(scrub)
  const message = scrub(failure.message)
  return deps.database.transaction(async (transaction) => {
    const { db, announce } = transaction
    const failed = await transitionDeployment(db, deployment.id, 'failed', {
      errorCode: failure.code,
      errorMessage: message,
      errorLogTail: JSON.stringify(logTail),
      finishedAt: nowOf(deps),
    })
    if (failed) await deps.onStatusChange?.(transaction, failed)
    if (failed) await enterDiscarding(failed.id, transaction)
    const project = failed && (await findAnyProject(db, deployment.projectId))
    if (project)
      await announce('deploy.failed', {
        organizationId: project.organizationId,
        projectId: project.id,
        subject: `Deployment ${deployment.number} of ${project.name} failed`,
        text: message,
        data: { deploymentId: deployment.id, environment: deployment.environment, code: failure.code },
      })
    return failed
  })
}

/**
 * Stops the instances of an ended deployment and removes its working folder; idempotent. While the edge may still route to the
 * deployment, its instances keep running and this rejects: the job retries until the edge has confirmed.
 */
export async function discard(deployment: DeploymentRow, deps: DeploymentsDeps): Promise<void> {
  const timeLimit = AbortSignal.timeout(60_000)
  await restoreRoute({ deployment, deps })
  await stopInstances(await listInstances(deps.database.db, { deploymentId: deployment.id }), deps, timeLimit)
  await restoreReplacedInstances(deployment, deps).catch((error: unknown) =>
    deps.log.warn(
      { err: error, projectId: deployment.projectId },
      'deployments: replaced instances not restored yet, will retry',
    ),
  )
  await rollbackTakeover(deployment, deps, timeLimit)
  await rm(folderOf(deployment, deps), { recursive: true, force: true })
  await deps.database.transaction(async (transaction) => {
    await endOperation(deployment.id, transaction)
    await cleanUpSoon(deployment.projectId, transaction)
  })
}

const cleanUpSoon = (projectId: string, { enqueue }: Pick<TransactionContext, 'enqueue'>) =>
  enqueue(cleanUpKind.of({ projectId }), { projectId }, { uniqueKey: `${cleanUpKind.kind}:${projectId}` })

const folderOf = ({ id }: Pick<DeploymentRow, 'id'>, { workFolder }: DeploymentsDeps) => join(workFolder, id)
