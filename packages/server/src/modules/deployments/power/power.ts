import type { DeploymentRow, LiveEnvironmentRow } from '../../../platform/db/tables/deployments.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { sharedKind } from '../../../platform/jobs/declare.ts'
import { findAnyProject, lockProject, type ProjectPower, runLeasedOperation } from '../../projects/index.ts'
import { startOrRebuild } from '../build/rebuild.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { waitUntilHealthy } from '../health/health.ts'
import { listInstances } from '../instance-store.ts'
import { findLive, listLive, transitionLive } from '../live-environments.ts'
import { replicasOf, type Unit } from '../plan/deployed.ts'
import { runConcurrently } from '../plan/run-concurrently.ts'
import { envOf, withSecrets } from '../plan/snapshot.ts'
import { cancelDeployment } from '../request/cancel.ts'
import { healthOf, runningUnits, startUnits, stopInstances } from '../run/run-units.ts'
import { findDeployment, listInProgress } from '../store.ts'

type LiveState = LiveEnvironmentRow['state']

/** Time limit for all instances of a project together; each runtime call has its own. */
const stopTimeoutMs = 60_000
const startTimeoutMs = 10 * 60_000
const restoreTimeoutMs = 5 * 60_000
const checkTimeoutMs = 15_000

/** Implements the power operations of the projects module (`projects/lifecycle/power.ts`): disable, enable, wake. */
export const projectPower = (deps: DeploymentsDeps): ProjectPower => ({
  takeOffline: (projectId, cancelWith) => takeOffline(projectId, cancelWith, deps),
  bringOnline: (projectId) => bringOnline(projectId, deps),
  wake: async (projectId, { enqueue }) => {
    await enqueue(wakeKind.of({ projectId }), { projectId }, { uniqueKey: `${wakeKind.kind}:${projectId}`, priority: 100 })
  },
})

/** The job that wakes every sleeping environment of a project; `sleep.ts` runs it. */
export const wakeKind = sharedKind<{ projectId: string }>('deployments.wake')

/** Stops routing to the project, then stops its instances. The edge answers its requests meanwhile. */
async function takeOffline(projectId: string, cancelWith: string | undefined, deps: DeploymentsDeps): Promise<void> {
  const { db } = deps.database
  await requireReachable(await listInstances(db, { projectId }), deps)
  if (cancelWith !== undefined)
    for (const deployment of await listInProgress(db, projectId))
      await cancelDeployment(deployment, deps, cancelWith).catch(() => undefined)
  for (const live of await listLive(db, [projectId]))
    await transitionLive(db, live, { to: 'stopped', changes: { changedAt: nowOf(deps) } })
  // The instances are stopped even if the edge is unreachable: until its retried sync succeeds, requests fail at the edge.
  await deps.edge
    .sync()
    .catch((error: unknown) => deps.log.warn({ err: error, projectId }, 'deployments: edge still routes to a stopped project'))
  await stopInstances(await listInstances(db, { projectId }), deps, AbortSignal.timeout(stopTimeoutMs))
}

/** Rejects at once when an engine is unreachable, without waiting for the stop or start timeout. */
async function requireReachable(targets: readonly { serverId: string | null }[], deps: DeploymentsDeps): Promise<void> {
  const serverIds = [...new Set(targets.map(({ serverId }) => serverId))]
  await Promise.all(serverIds.map((serverId) => deps.runtimes.for(serverId).check(AbortSignal.timeout(checkTimeoutMs))))
}

/** Starts the last live deployments and routes to them. */
async function bringOnline(projectId: string, deps: DeploymentsDeps): Promise<void> {
  for (const live of await listLive(deps.database.db, [projectId]))
    if (live.state !== 'sleeping') await startLive(live, ['stopped', 'waking', 'live'], deps, AbortSignal.timeout(startTimeoutMs))
  await deps.edge.sync()
}

export const environmentLock = ({ projectId, environment }: Pick<LiveEnvironmentRow, 'projectId' | 'environment'>) =>
  `${projectId}:${environment}`

/**
 * Starts the live deployment of an environment again, from its artifact and with the variables of its time; it is healthy before
 * requests are routed to it. Does nothing unless the environment is in one of the states `from`: it may have been switched,
 * disabled or started meanwhile.
 */
export const startLive = (
  live: LiveEnvironmentRow,
  from: readonly LiveState[],
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<void> => deps.locks.run(environmentLock(live), () => startLocked(live, from, deps, abort), abort)

/** Calls `startLive`, unless a restore or a move has stopped the project. */
export const startAutomatically = (
  kind: 'recover' | 'wake',
  live: LiveEnvironmentRow,
  from: readonly LiveState[],
  deps: DeploymentsDeps,
  abort: AbortSignal,
): Promise<boolean> =>
  runLeasedOperation({ projectId: live.projectId, environment: live.environment, kind }, deps, () =>
    startLive(live, from, deps, abort),
  )

/** Restarts a service of the live deployment that was stopped for a new version which then failed. */
export async function restoreReplacedInstances(
  { id, projectId, environment }: DeploymentRow,
  deps: DeploymentsDeps,
): Promise<void> {
  const { db } = deps.database
  const live = await findLive(db, projectId, environment)
  if ((live?.state !== 'live' && live?.state !== 'waking') || !live.deploymentId || live.deploymentId === id) return
  const deployment = await findDeployment(db, live.deploymentId)
  if (!deployment?.artifacts) return
  const rows = await listInstances(db, { deploymentId: deployment.id, state: 'running' })
  const areAllRunning = runningUnits(deployment).every(
    (unit) => rows.filter((row) => row.service === unit.service).length >= replicasOf(unit),
  )
  if (!areAllRunning) await startAutomatically('recover', live, ['live', 'waking'], deps, AbortSignal.timeout(restoreTimeoutMs))
}

async function startLocked(live: LiveEnvironmentRow, from: readonly LiveState[], deps: DeploymentsDeps, abort: AbortSignal) {
  const { db } = deps.database
  const current = await findLive(db, live.projectId, live.environment)
  if (!current?.deploymentId || !from.includes(current.state) || !mayRun(await findAnyProject(db, live.projectId))) return
  const deployment = await findDeployment(db, current.deploymentId)
  if (deployment?.artifacts) await startUntilHealthy(deployment, deps, abort)
  const now = nowOf(deps)
  const { deploymentId } = current
  const changes = { health: 'healthy', healthReason: null, lastRequestAt: now, changedAt: now } as const
  const isLive = await deps.database.transaction(async (transaction) => {
    // The project may have been disabled or moved during the start: a stopped environment must not be marked live.
    await lockProject(transaction, live.projectId)
    if (!mayRun(await findAnyProject(transaction.db, live.projectId))) return false
    return transitionLive(transaction.db, current, { to: 'live', from, deploymentId, changes })
  })
  if (isLive) await deps.edge.sync()
  else await stopInstances(await listInstances(db, { deploymentId }), deps, abort)
}

const mayRun = (project: ProjectRow | undefined): boolean =>
  project?.enabled === 1 && project.deletingSince === null && (project.presence === 'here' || project.presence === 'landing')

async function startUntilHealthy(deployment: DeploymentRow, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  await requireReachable([deployment], deps)
  const env = await envOf(deployment, deps)
  const report = (message: string) => deps.log.debug({ deploymentId: deployment.id }, message)
  const start = (row: DeploymentRow) => startUnits({ deployment: row, env, deps, abort, report })
  const rows = await startOrRebuild(deployment, start, { deps, abort })
  const units = runningUnits(deployment)
  const hasExposedUnit = units.some(({ exposed }) => exposed)
  await runConcurrently(units, abort, async (unit, signal) => {
    const row = rows.find(({ service }) => service === unit.service)
    if (!row) return
    const healthy = waitUntilHealthy(row, withSecrets(unit, env), healthOf(deployment, unit), { deps, abort: signal })
    // A failed internal service does not take the exposed one offline: its own status shows the failure.
    await (hasExposedUnit && !unit.exposed ? healthy.catch((error: unknown) => logFailure(unit, error)) : healthy)
  })

  function logFailure({ service }: Unit, error: unknown): void {
    abort.throwIfAborted()
    deps.log.warn(
      { err: error, deploymentId: deployment.id, service },
      'deployments: a service did not start, the others are running',
    )
  }
}
