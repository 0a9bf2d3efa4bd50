import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '@berth/contract'
import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import { isDiskFull } from '../../../platform/disk-full.ts'
import { JobAborted, job } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { endOperation, enterDiscarding, findAnyProject, findBySubject, lockProject, proceed } from '../../projects/index.ts'
import { beginDeploying, build } from '../build/build.ts'
import { fetchSource } from '../build/fetch-source.ts'
import { cleanUpKind } from '../data/clean-up.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { type DeploymentLog, deploymentTopic, openDeploymentLog } from '../deployment-log.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { takeEnv } from '../plan/snapshot.ts'
import { restoreTakenOver } from '../power/power.ts'
import { type DeployPayload, deployKind } from '../request/request-deployment.ts'
import { stopInstances } from '../run/run-units.ts'
import { rollbackTakeover } from '../run/takeover.ts'
import type { Deploying, DeployStep } from '../step.ts'
import { findDeployment, listInstances, transitionDeployment } from '../store.ts'
import { drain, retire } from './drain.ts'
import { healthCheck } from './health-check.ts'
import { makePlan } from './make-plan.ts'
import { runStep } from './on-server.ts'
import { retirePredecessors } from './retire-predecessors.ts'
import { start } from './start.ts'
import { pointBack, switchRoute } from './switch-route.ts'

const building: readonly DeployStep[] = [fetchSource, makePlan, build]
const deploying: readonly DeployStep[] = [start, healthCheck, switchRoute, retirePredecessors, drain, retire]

/** Runs one deployment from source to route. The job may run twice: each step knows whether it was completed before. */
export const deployJob = (deps: DeploymentsDeps) =>
  job<DeployPayload, unknown>(deployKind, {
    deadlineMs: 2 * 60 * 60_000,
    maxAttempts: 10,
    concurrency: deps.settings.maxBuilds,
    run: ({ deploymentId }, _deps, abort) => deploy(deploymentId, deps, abort),
    onFailed: async ({ deploymentId }, { message, attempts }) => {
      const deployment = await findDeployment(deps.database.db, deploymentId)
      deps.log.error({ deploymentId, message, attempts }, 'deployments: attempts used up')
      if (deployment) await end(deployment, new DeployFailed('gave_up', gaveUpText(attempts)), deps)
    },
  })

/** Omits the error itself, which may contain a table name or a path. */
const gaveUpText = (attempts: number) =>
  `The deployment was interrupted ${attempts} times. The log of the instance has the details. Deploy again.`

async function deploy(deploymentId: string, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  const found = await findDeployment(db, deploymentId)
  if (!found) return
  const isOver = found.status === 'failed' || found.status === 'cancelled' || found.status === 'superseded'
  const project = await findAnyProject(db, found.projectId)
  if (isOver || !project) return discard(found, deps)
  // It waits for a restore or a move, and is queued again when that ends.
  if (!(await mayBegin(found, deps))) return
  const begun = await transitionDeployment(db, deploymentId, 'building', { startedAt: found.startedAt ?? nowOf(deps) })
  const begunOrFound = begun ?? found
  const log = await openDeploymentLog(begunOrFound, deps)
  try {
    const { deployment, env } = await takeEnv(begunOrFound, deps)
    const folder = folderOf(deployment, deps)
    const context = await takeSteps(building, { deployment, project, folder, env, log, abort, deps, left: {} })
    if (await isHeld(project.id, deps)) return log.line('Built. It starts when its data has been imported.')
    const { status } = context.deployment
    if (status !== 'live' && status !== 'deploying' && !(await beginDeploying(context)))
      throw new DeployFailed('cancelled', 'The deployment was cancelled')
    deps.database.signals.publish(deploymentTopic(deploymentId), { changed: true })
    await takeSteps(deploying, context)
    await deps.database.transaction((bound) => cleanUpSoon(project.id, bound))
    await rm(folder, { recursive: true, force: true })
  } catch (error) {
    if (isHandedBack(abort)) throw error
    await end(begunOrFound, error, deps, log)
  } finally {
    await log.flush()
    deps.database.signals.publish(deploymentTopic(deploymentId), { changed: true })
  }
}

async function mayBegin({ id, projectId }: DeploymentRow, deps: DeploymentsDeps): Promise<boolean> {
  const operation = await findBySubject(deps.database.db, id)
  if (operation?.phase !== 'waiting') return true
  return deps.database.transaction(async (bound) => {
    await lockProject(bound, projectId)
    return proceed(id, bound, deps)
  })
}

/** A project that moves here still runs on its old instance; the move continues this deployment at the cutover. */
const isHeld = async (projectId: string, { database: { db } }: DeploymentsDeps): Promise<boolean> =>
  (await findAnyProject(db, projectId))?.presence === 'arriving'

const isHandedBack = (abort: AbortSignal) =>
  abort.aborted &&
  abort.reason instanceof JobAborted &&
  (abort.reason.reason === 'shutdown' || abort.reason.reason === 'lease_lost')

/** Returns the context with the newest row. */
async function takeSteps(steps: readonly DeployStep[], given: Deploying): Promise<Deploying> {
  let context = given
  for (const step of steps) {
    if (step.isDone?.(context)) {
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
      if (isHandedBack(context.abort)) throw error
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
async function end(deployment: DeploymentRow, error: unknown, deps: DeploymentsDeps, log?: DeploymentLog) {
  const current = await findDeployment(deps.database.db, deployment.id)
  if (!current || current.status === 'live' || current.status === 'superseded') {
    // It already serves; only steps after the switch failed, and the next start repeats them.
    deps.log.warn({ err: error, deploymentId: deployment.id }, 'deployments: final steps of a live deployment failed')
    return
  }
  const failure = failureOf(error, current, deps)
  log?.line(failure.message)
  const moved = await recordFailure(current, failure, deps, log)
  if (moved || current.status === 'cancelled' || current.status === 'failed') await discard(current, deps)
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
  return deps.database.transaction(async (bound) => {
    const { db, announce } = bound
    const moved = await transitionDeployment(db, deployment.id, 'failed', {
      errorCode: failure.code,
      errorMessage: message,
      errorLogTail: JSON.stringify(logTail),
      finishedAt: nowOf(deps),
    })
    if (moved) await deps.follow?.(bound, moved)
    if (moved) await enterDiscarding(moved.id, bound)
    const project = moved && (await findAnyProject(db, deployment.projectId))
    if (project)
      await announce('deploy.failed', {
        organizationId: project.organizationId,
        projectId: project.id,
        subject: `Deployment ${deployment.number} of ${project.name} failed`,
        text: message,
        data: { deploymentId: deployment.id, environment: deployment.environment, code: failure.code },
      })
    return moved
  })
}

/**
 * Stops and removes what an ended deployment left; idempotent. While the edge may still route to it, its instances keep running
 * and this rejects: the job retries until the edge has confirmed.
 */
export async function discard(deployment: DeploymentRow, deps: DeploymentsDeps): Promise<void> {
  const rest = AbortSignal.timeout(60_000)
  await pointBack({ deployment, deps })
  await stopInstances(await listInstances(deps.database.db, { deploymentId: deployment.id }), deps, rest)
  await restoreTakenOver(deployment, deps).catch((error: unknown) =>
    deps.log.warn(
      { err: error, projectId: deployment.projectId },
      'deployments: replaced instances not restored yet, will retry',
    ),
  )
  await rollbackTakeover(deployment, deps, rest)
  await rm(folderOf(deployment, deps), { recursive: true, force: true })
  await deps.database.transaction(async (bound) => {
    await endOperation(deployment.id, bound)
    await cleanUpSoon(deployment.projectId, bound)
  })
}

const cleanUpSoon = (projectId: string, { enqueue }: Pick<TransactionContext, 'enqueue'>) =>
  enqueue(cleanUpKind.of({ projectId }), { projectId }, { uniqueKey: `${cleanUpKind.kind}:${projectId}` })

const folderOf = ({ id }: Pick<DeploymentRow, 'id'>, { workFolder }: DeploymentsDeps) => join(workFolder, id)
