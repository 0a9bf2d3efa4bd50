import type { Db } from '../../../db/schema.ts'
import type { DeploymentRow } from '../../../db/tables/deployments.ts'
import { environmentHostname } from '../../projects/index.ts'
import { deploymentTopic } from '../deployment-log.ts'
import { nowOf } from '../deps.ts'
import { artifactsOf, planOf } from '../plan.ts'
import { runningUnits } from '../run-units.ts'
import { findLive, listInstances, listLiveDeployments, moveDeployment, noteInstance, setLive } from '../store.ts'
import { rowsThatStay } from '../volume-holders.ts'
import { DeployFailed, type Deploying, type DeployStep } from './step.ts'

/** Moves the route: the database first, then the edge. Only when the edge has it in force is the deployment `live`. */
export const switchRoute: DeployStep = {
  name: 'switch',
  deadlineMs: 60_000,
  isDone: ({ deployment }) => deployment.status === 'live',
  async run(deploying) {
    const { deployment, deps, log } = deploying
    deploying.left.countersBefore = await deps.edge.counters(deployment.projectId).catch(() => undefined)
    await point(deployment, deploying)
    try {
      await deps.edge.sync()
    } catch (error) {
      // A failure to route is a warning on the project, not a lie about the deployment.
      log.line(`The route could not be moved yet: ${(error as Error).message}`)
      deps.log.warn({ err: error, projectId: deployment.projectId }, 'the edge did not take a switch')
    }
    await becomeLive(deploying)
    log.line('Live')
  },
}

async function point(
  deployment: DeploymentRow,
  { deps }: Pick<Deploying, 'deps'>,
  state: 'live' | 'sleeping' = 'live',
): Promise<void> {
  const { projectId, environment } = deployment
  await setLive(deps.database.db, {
    projectId,
    environment,
    deploymentId: deployment.id,
    state,
    staticFolder: staticFolderOf(deployment),
    health: 'healthy',
    healthReason: null,
    lastRequestAt: nowOf(deps),
    changedAt: nowOf(deps),
  })
}

const staticFolderOf = (deployment: DeploymentRow) =>
  Object.values(artifactsOf(deployment)).find(({ kind }) => kind === 'static')?.reference ?? null

async function becomeLive({ deployment, project, deps }: Deploying): Promise<void> {
  const { projectId, environment, id } = deployment
  const url = urlFor(environmentHostname(project, environment, deps.settings.baseDomain), deps.edge.ports())
  const moved = await deps.database.transaction(async ({ db, signal, announce }) => {
    const before = await listLiveDeployments(db, projectId, environment)
    const row = await moveDeployment(db, id, 'live', { finishedAt: nowOf(deps), url })
    if (!row) return undefined
    for (const old of before) {
      await moveDeployment(db, old.id, 'superseded')
      signal(deploymentTopic(old.id), { changed: true })
      await passOn(deployment, old, db)
    }
    await announce('deploy.succeeded', {
      organizationId: project.organizationId,
      projectId,
      subject: `${project.name} is live`,
      text: `Deployment ${deployment.number} of ${project.name} (${environment}) is live at ${url}.`,
      data: { deploymentId: id, environment, url },
    })
    return row
  })
  if (!moved) throw new DeployFailed('cancelled', 'It was cancelled')
  Object.assign(deployment, moved)
}

/** What both use goes over to the new one; the rest of the old one has had its time. */
async function passOn(deployment: DeploymentRow, old: DeploymentRow, db: Db): Promise<void> {
  const [theirs, own] = [
    await listInstances(db, { deploymentId: old.id }),
    await listInstances(db, { deploymentId: deployment.id }),
  ]
  const staying = new Set(rowsThatStay(planOf(deployment), theirs, own))
  for (const row of theirs)
    await noteInstance(db, row.id, staying.has(row) ? { deploymentId: deployment.id } : { state: 'retired' })
}

const urlFor = (hostname: string, { http }: { http: number }) => `http://${hostname}${http === 80 ? '' : `:${http}`}`

/** After a failure: the route points at what was live before, or at nothing. */
export async function pointBack(deploying: Pick<Deploying, 'deployment' | 'deps'>): Promise<void> {
  const { deployment, deps } = deploying
  const { projectId, environment } = deployment
  const live = await findLive(deps.database.db, projectId, environment)
  if (live?.deploymentId !== deployment.id) return
  const [before] = await listLiveDeployments(deps.database.db, projectId, environment)
  if (before) await point(before, deploying, await standingOf(before, deps))
  else
    await deps.database.db
      .deleteFrom('liveEnvironments')
      .where('projectId', '=', projectId)
      .where('environment', '=', environment)
      .execute()
  await deps.edge.sync()
}

/** What slept before the switch sleeps after it, and the next request wakes it. */
async function standingOf(deployment: DeploymentRow, { database }: Deploying['deps']): Promise<'live' | 'sleeping'> {
  const running = await listInstances(database.db, { deploymentId: deployment.id, state: 'running' })
  return running.length < runningUnits(deployment).length ? 'sleeping' : 'live'
}
