import type { LiveEnvironmentRow } from '../../../platform/db/tables/deployments.ts'
import type { ProjectRow } from '../../../platform/db/tables/projects.ts'
import { job } from '../../../platform/jobs/declare.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { findAnyProject, runLeasedOperation } from '../../projects/index.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { listInstances } from '../instance-store.ts'
import { listLive, transitionLive } from '../live-environments.ts'
import { stopInstances } from '../run/run-units.ts'
import { environmentLock, startAutomatically, wakeKind } from './power.ts'

/** Puts idle environments to sleep, if their project allows it. */
export async function putIdleToSleep(deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  if (deps.settings.sleepAfterSeconds === 0) return
  const live = (await listLive(deps.database.db)).filter(({ state }) => state === 'live')
  if (live.length === 0) return
  const activity = await deps.edge.activity()
  for (const environment of live) {
    abort.throwIfAborted()
    if (await isIdle(environment, activity, deps)) await putToSleep(environment, deps, abort)
  }
}

async function isIdle(live: LiveEnvironmentRow, activity: Record<string, number>, deps: DeploymentsDeps): Promise<boolean> {
  const last = Math.max(activity[live.projectId] ?? 0, live.lastRequestAt ?? 0, live.changedAt)
  if (nowOf(deps) - last < deps.settings.sleepAfterSeconds * 1000) return false
  const project = await findAnyProject(deps.database.db, live.projectId)
  return project !== undefined && maySleep(project)
}

const maySleep = ({ sleepMode, type }: ProjectRow): boolean =>
  sleepMode === 'auto_sleep' && type !== 'worker' && type !== 'static'

/** Changes the route first, then stops the instances: the edge holds a request that arrives in between, and wakes the project. */
const putToSleep = (live: LiveEnvironmentRow, deps: DeploymentsDeps, abort: AbortSignal): Promise<boolean> =>
  runLeasedOperation({ projectId: live.projectId, environment: live.environment, kind: 'sleep' }, deps, () =>
    deps.locks.run(environmentLock(live), () => sleepLocked(live, deps, abort), abort),
  )

async function sleepLocked(live: LiveEnvironmentRow, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { projectId, deploymentId } = live
  const project = await findAnyProject(deps.database.db, projectId)
  // Sleeping may have been disabled while this waited for the lock.
  if (!deploymentId || !project || !maySleep(project)) return
  const changes = { changedAt: nowOf(deps) }
  if (!(await transitionLive(deps.database.db, live, { to: 'sleeping', from: ['live'], deploymentId, changes }))) return
  await deps.edge.sync()
  const rows = await listInstances(deps.database.db, { deploymentId })
  await Promise.all(rows.map(({ id }) => deps.edge.drain(id, 10_000, abort).catch(() => undefined)))
  await stopInstances(rows, deps, abort)
  await deps.database.transaction((transaction) =>
    announceHealth(transaction, 'project.slept', projectId, 'It received no requests. The next request wakes it.'),
  )
}

/** Wakes every sleeping environment of a project; held requests go through as soon as it is healthy. */
export const wakeJob = (deps: DeploymentsDeps) =>
  job<{ projectId: string }, unknown>(wakeKind, {
    deadlineMs: 5 * 60_000,
    maxAttempts: 3,
    concurrency: 8,
    backoff: () => 1_000,
    async run({ projectId }, _deps, abort) {
      const project = await findAnyProject(deps.database.db, projectId)
      if (!project?.enabled || project.deletingSince !== null) return
      for (const live of await listLive(deps.database.db, [projectId]))
        if (live.state === 'sleeping' || live.state === 'waking')
          await startAutomatically('wake', live, ['sleeping', 'waking'], deps, abort)
    },
  })

const healthEventTexts = {
  'project.slept': 'went to sleep',
  'project.unhealthy': 'is unhealthy',
  'project.recovered': 'is healthy again',
}

/** Announces a health change within the transaction that records it. */
export async function announceHealth(
  { db, announce }: TransactionContext,
  category: keyof typeof healthEventTexts,
  projectId: string,
  text: string,
): Promise<void> {
  const project = await findAnyProject(db, projectId)
  if (!project) return
  const { organizationId, name } = project
  await announce(category, { organizationId, projectId, subject: `${name} ${healthEventTexts[category]}`, text })
}
