import { setTimeout as pause } from 'node:timers/promises'
import type { Db } from '../../../platform/db/schema.ts'
import type { DeploymentRow, LiveEnvironmentRow } from '../../../platform/db/tables/deployments.ts'
import { endOperation, environmentHostname, findAnyProject, lockProject } from '../../projects/index.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { deploymentTopic } from '../deployment-log.ts'
import { nowOf } from '../deps.ts'
import { newState, statesOf, statusIn } from '../health/service-states.ts'
import { listInstances, updateInstance } from '../instance-store.ts'
import { deleteLive, findLive, setLiveDeployment, transitionLive } from '../live-environments.ts'
import { artifactsOf, planOf } from '../plan/deployed.ts'
import { routesToStore } from '../plan/service-routes.ts'
import { requiredInstances, runningUnits } from '../run/run-units.ts'
import { sharedInstances } from '../run/volume-holders.ts'
import type { DeployStep, StepContext } from '../step.ts'
import { listLiveDeployments, transitionDeployment } from '../store.ts'

/**
 * Switches the route: first in the database, then at the edge. The deployment is `live` only when every edge process uses the new
 * route; otherwise it fails, the route is restored, and the previous deployment keeps serving.
 */
export const switchRoute: DeployStep = {
  name: 'switch',
  // A hung edge process is replaced within this time and loads the table.
  deadlineMs: 2 * 60_000,
  isDone: ({ deployment }) => deployment.status === 'live',
  completeDone: ({ log }) => log.lineOnce('switch', liveMessage),
  async run(deploying) {
    const { deployment, log } = deploying
    deploying.shared.countersBefore = await countersOf(deploying)
    await routeTo(deployment, deploying)
    await requireEdgeRoute(deploying)
    const live = await markLive(deploying)
    log.line(liveMessage)
    return live
  },
}

const liveMessage = 'Live'

const countersTimeoutMs = 5_000

/** Request counts at the edge; undefined when the edge does not respond soon, as the switch must not wait for statistics. */
export const countersOf = ({ deployment, deps }: Pick<StepContext, 'deployment' | 'deps'>) =>
  Promise.race([deps.edge.counters(deployment.projectId), pause(countersTimeoutMs, undefined, { ref: false })]).catch(
    () => undefined,
  )

/**
 * Fails unless the edge serves the project's own host name. A custom domain that it cannot serve is only a warning on the project.
 */
async function requireEdgeRoute({ deployment, project, deps }: StepContext): Promise<void> {
  const hostname = environmentHostname(project, deployment.environment, deps.settings.baseDomain)
  const reason = await deps.edge.sync().then(
    ({ refused }) => refused.get(hostname),
    (error: Error) => error.message,
  )
  if (reason === undefined) return
  deps.log.warn(
    { projectId: deployment.projectId, deploymentId: deployment.id, reason },
    'deployments: edge rejected the new route',
  )
  throw new DeployFailed('switch_failed', `The edge rejected the new version: ${reason}`)
}

/** Routes the environment to this deployment; takes effect with the next edge sync. */
export async function routeTo(
  deployment: DeploymentRow,
  { deps }: Pick<StepContext, 'deps'>,
  state: 'live' | 'sleeping' = 'live',
): Promise<void> {
  const { projectId, environment } = deployment
  await setLiveDeployment(deps.database.db, {
    projectId,
    environment,
    deploymentId: deployment.id,
    state,
    staticFolder: staticFolderOf(deployment),
    serviceRoutes: await serviceRoutesJson(deployment, deps),
    services: await initialServicesJson(deployment, deps),
    health: 'healthy',
    healthReason: null,
    lastRequestAt: nowOf(deps),
    changedAt: nowOf(deps),
  })
}

/** Service states of a new deployment: empty, except for services taken over from the previous one. */
async function initialServicesJson(deployment: DeploymentRow, deps: StepContext['deps']): Promise<string> {
  const { id: deploymentId, projectId, environment } = deployment
  const { db } = deps.database
  const live = await findLive(db, projectId, environment)
  const before = live ? statesOf(live) : []
  const rows = await listInstances(db, { deploymentId })
  const states = runningUnits(deployment).map(async (unit) => {
    const row = rows.find(({ service }) => service === unit.service)
    const previous = row ? undefined : before.find(({ name }) => name === unit.service)
    const instance =
      row &&
      (await deps.runtimes
        .for(row.serverId)
        .inspectCached(row.id)
        .catch(() => undefined))
    return previous ?? { ...newState(unit), status: statusIn(instance, unit) }
  })
  return JSON.stringify(await Promise.all(states))
}

async function serviceRoutesJson(deployment: DeploymentRow, { projects }: StepContext['deps']): Promise<string | null> {
  const environments = deployment.environment === 'production' ? await projects.environmentsOf(deployment.projectId) : []
  const routes = routesToStore(
    planOf(deployment).units,
    environments.map(({ slug }) => slug),
  )
  return routes && JSON.stringify(routes)
}

const staticFolderOf = (deployment: DeploymentRow) =>
  Object.values(artifactsOf(deployment)).find(({ kind }) => kind === 'static')?.reference ?? null

/**
 * Sets the status to `live` and completes the step in one transaction, so a reader never sees a live deployment whose switch step
 * still runs.
 */
async function markLive({ deployment, project, deps, log }: StepContext): Promise<DeploymentRow> {
  const { projectId, environment, id } = deployment
  const hostname = environmentHostname(project, environment, deps.settings.baseDomain)
  const url = deps.projects.environmentUrl(project, environment) ?? urlFor(hostname, deps.edge.ports())
  const address = (environment === 'production' && (await deps.projects.addressOf(project))) || url
  const live = await deps.database.transaction(async (transaction) => {
    const { db, signal, announce } = transaction
    await lockProject(transaction, projectId)
    const before = await listLiveDeployments(db, projectId, environment)
    const row = await transitionDeployment(db, id, 'live', { finishedAt: nowOf(deps), url, steps: log.stepsWithDone('switch') })
    if (!row) return undefined
    await endOperation(id, transaction)
    for (const old of before) {
      await transitionDeployment(db, old.id, 'superseded')
      signal(deploymentTopic(old.id), { changed: true })
      await handOverInstances(deployment, old, db)
    }
    await deps.onStatusChange?.(transaction, row)
    await announce('deploy.succeeded', {
      organizationId: project.organizationId,
      projectId,
      subject: `${project.name} is live`,
      text: `Deployment ${deployment.number} of ${project.name} (${environment}) is live at ${address}.`,
      data: { deploymentId: id, environment, url: address },
    })
    return row
  })
  if (!live) throw new DeployFailed('cancelled', 'The deployment was cancelled')
  return live
}

/** Moves shared instances to the new deployment and retires the rest of the old one. */
async function handOverInstances(deployment: DeploymentRow, old: DeploymentRow, db: Db): Promise<void> {
  const [oldRows, newRows] = [
    await listInstances(db, { deploymentId: old.id }),
    await listInstances(db, { deploymentId: deployment.id }),
  ]
  const shared = new Set(sharedInstances(planOf(deployment), oldRows, newRows))
  for (const row of oldRows)
    await updateInstance(db, row.id, shared.has(row) ? { deploymentId: deployment.id } : { state: 'retired' })
}

const urlFor = (hostname: string, { http }: { http: number }) => `http://${hostname}${http === 80 ? '' : `:${http}`}`

/**
 * Restores the previous route, or removes it, after a failure. Resolves when the edge no longer routes to the deployment: a failed
 * switch may still take effect late.
 */
export async function restoreRoute(deploying: Pick<StepContext, 'deployment' | 'deps'>): Promise<void> {
  const { deployment, deps } = deploying
  const { db } = deps.database
  const { projectId, environment } = deployment
  const live = await findLive(db, projectId, environment)
  const isRouted = live?.deploymentId === deployment.id
  if (!isRouted && (await listInstances(db, { deploymentId: deployment.id })).length === 0) return
  if (isRouted) {
    const [before] = await listLiveDeployments(db, projectId, environment)
    if (before) await routeTo(before, deploying, await stateAfterRestore(before, deps))
    else await deleteLive(db, { projectId, environment })
    await keepDisabledStopped(live, deps)
  }
  await deps.edge.sync()
}

/** Marks the environment of a project that was disabled during the switch as `stopped`, so that `enable` starts it. */
const keepDisabledStopped = (live: LiveEnvironmentRow, deps: StepContext['deps']): Promise<void> =>
  deps.database.transaction(async (transaction) => {
    await lockProject(transaction, live.projectId)
    const project = await findAnyProject(transaction.db, live.projectId)
    if (project && !project.enabled)
      await transitionLive(transaction.db, live, { to: 'stopped', changes: { changedAt: nowOf(deps) } })
  })

/**
 * The state after a rollback of the route: a project that was sleeping before the switch sleeps again, and the next request wakes
 * it.
 */
async function stateAfterRestore(deployment: DeploymentRow, { database }: StepContext['deps']): Promise<'live' | 'sleeping'> {
  const running = await listInstances(database.db, { deploymentId: deployment.id, state: 'running' })
  return running.length < requiredInstances(runningUnits(deployment), running).length ? 'sleeping' : 'live'
}
