import type { ContainerSettings } from '@berth/contract'
import {
  type Artifact,
  type Instance,
  type NetworkRequest,
  StartFailed,
  type StartRequest,
} from '../../../drivers/runtime/runtime.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { DeploymentRow, InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { findAnyProject } from '../../projects/index.ts'
import { placeOf } from '../addresses.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { hasDoneItsWork, waitUntilHealthy } from '../health/health.ts'
import { artifactsOf, type DeployedConfig, type DeployPlan, planOf, replicasOf, type Unit } from '../plan/plan.ts'
import { inDependencyOrder } from '../plan/side-by-side.ts'
import { withSecrets } from '../plan/snapshot.ts'
import { environmentOf } from '../plan/unit-environment.ts'
import { deleteInstance, insertInstance, listInstances, noteStarted, updateInstance } from '../store.ts'
import { makeWay } from './predecessor-turns.ts'
import type { RunParts } from './run-parts.ts'
import { volumesFor } from './unit-volumes.ts'
import { handOverVolumes } from './volume-handover.ts'

/** An instance was started. */
export const instancesTopic = 'instances'

/** Units that run as instances; a static project is served by the edge from disk. */
export const runningUnits = (deployment: DeploymentRow): Unit[] => {
  const { type, units } = planOf(deployment)
  return type === 'static' ? [] : units
}

/** Each instance that has to run, with its row where there is one. */
export const wantedRows = (
  units: readonly Unit[],
  rows: readonly InstanceRow[],
): { unit: Unit; row: InstanceRow | undefined }[] =>
  units.flatMap((unit) =>
    Array.from({ length: replicasOf(unit) }, (_, index) => ({
      unit,
      row: rows.find(({ service, replica }) => service === unit.service && replica === index + 1),
    })),
  )

/**
 * Starts the units of a deployment beside whatever else runs, each as soon as what it depends on is healthy. Each is written down before the runtime is asked, and one
 * that was asked for already is taken up again: after a crash nothing runs that is not known, and nothing runs twice.
 */
export async function startUnits(parts: RunParts, only?: ReadonlySet<string>): Promise<InstanceRow[]> {
  const { deployment, deps } = parts
  const units = runningUnits(deployment).filter(({ service }) => only?.has(service) ?? true)
  const rows = await inDependencyOrder(units, parts.abort, async (unit, abort) => {
    const started: InstanceRow[] = []
    for (let replica = 1; replica <= replicasOf(unit); replica++)
      started.push(await startUnit(withSecrets(unit, parts.env), replica, { ...parts, abort }))
    const isNeeded = units.some(({ dependsOn }) => dependsOn.includes(unit.service))
    if (isNeeded && !unit.exposed)
      for (const row of started)
        await waitUntilHealthy(row, withSecrets(unit, parts.env), healthOf(deployment, unit), { deps, abort })
    return started
  })
  return rows.flat()
}

/** The project's own health check is about what is exposed; other services only have to answer on their port. */
export function healthOf(deployment: DeploymentRow, unit: Unit) {
  const { healthCheck } = JSON.parse(deployment.config) as DeployedConfig
  if (unit.healthPath && !healthCheck?.path) return { ...healthCheck, path: unit.healthPath }
  return unit.exposed ? healthCheck : { timeoutSeconds: healthCheck?.timeoutSeconds }
}

async function startUnit(unit: Unit, replica: number, parts: RunParts): Promise<InstanceRow> {
  const { deployment, deps, say, abort } = parts
  const { db } = deps.database
  const volumes = await volumesFor(unit, parts)
  await makeWay(unit, parts)
  const room = await handOverVolumes(unit, replica, parts, (rows) => stopInstances(rows, deps, abort))
  if (room.shared) {
    const runtime = deps.runtimes.for(room.shared.serverId)
    await runtime.start(await withLogins(requestFor(room.shared, unit, volumes, parts), unit, deps), abort)
    return room.shared
  }
  const row = await instanceFor(deployment, unit, replica, deps)
  const runtime = deps.runtimes.for(row.serverId)
  const known = await runtime.inspect(row.id)
  if (known && isSettled(known, unit, row)) return row
  say(`Starting ${unit.service}${replicasOf(unit) > 1 ? ` (${replica} of ${replicasOf(unit)})` : ''}`.trim())
  try {
    // What the runtime does not know begins with an empty output.
    if (row.logPosition !== null && !known) await updateInstance(db, row.id, { logPosition: null })
    const request = await withLogins(requestFor(row, unit, volumes, parts, room.usedBy), unit, deps)
    const instance = await runtime.start(request, abort)
    const found = { state: 'running' as const, ...placeOf(instance) }
    if (!(await noteStarted(db, row.id, found))) {
      // It was stopped, or its project deleted, before the runtime knew of it.
      await runtime.stop(row.id, { graceSeconds: stopGraceSeconds }, AbortSignal.timeout(stopMs))
      throw new DeployFailed('stopped', 'The instance was stopped while it was starting')
    }
    deps.database.signals.publish(instancesTopic, { started: row.id })
    return { ...row, ...found }
  } catch (error) {
    if (error instanceof StartFailed) throw new DeployFailed('start_failed', error.message, [], { cause: error })
    throw error
  }
}

async function instanceFor(deployment: DeploymentRow, unit: Unit, replica: number, deps: DeploymentsDeps): Promise<InstanceRow> {
  const known = await listInstances(deps.database.db, { deploymentId: deployment.id })
  const mine = known.find((row) => row.service === unit.service && row.replica === replica && row.state !== 'retired')
  if (mine) return mine
  const row: InstanceRow = {
    id: newId('ins'),
    deploymentId: deployment.id,
    projectId: deployment.projectId,
    environment: deployment.environment,
    service: unit.service,
    replica,
    exposed: unit.exposed ? 1 : 0,
    runtime: deps.runtimes.for(deployment.serverId).kind,
    serverId: deployment.serverId,
    state: 'wanted',
    host: null,
    port: null,
    listener: null,
    logPosition: null,
    completed: 0,
    createdAt: nowOf(deps),
  }
  await insertInstance(deps.database.db, row)
  return row
}

/** Each version has a network of its own, so that no service ever finds one of another version under a name. */
const networkOf = ({ projectId, environment, id }: Pick<DeploymentRow, 'projectId' | 'environment' | 'id'>) =>
  `${projectId}-${environment}-${id}`

/** The networks that a unit joins. A plan without any has the one that all of its units share. */
function networksFor(unit: Unit, { units }: DeployPlan): Pick<NetworkRequest, 'aliases' | 'services' | 'parts'> {
  const aliases = [unit.service, ...(unit.container?.aliases ?? [])]
  const services = units.reduce((sum, one) => sum + replicasOf(one), 0)
  if (units.every(({ container }) => !container?.networks)) return { aliases, services }
  const all = units.flatMap((one) => networksNamed(one).map((network) => ({ ...network, containers: replicasOf(one) })))
  const parts = networksNamed(unit).map(({ name, aliases: own = [] }) => {
    const same = all.filter((network) => network.name === name)
    const internal = same.some((network) => network.internal === true)
    const containers = same.reduce((sum, one) => sum + one.containers, 0)
    return { name, internal, aliases: [...new Set([...aliases, ...own])], services: containers }
  })
  return { aliases, services, parts }
}

/** A service that names no network is on the default one. */
const networksNamed = ({ container }: Unit): NonNullable<ContainerSettings['networks']> =>
  container?.networks ?? [{ name: 'default' }]

function requestFor(
  row: InstanceRow,
  unit: Unit,
  volumes: StartRequest['volumes'],
  { deployment, env }: RunParts,
  usedBy: DeploymentRow[] = [],
): StartRequest {
  const { projectId, environment } = deployment
  const plan = planOf(deployment)
  return {
    instanceId: row.id,
    owner: { projectId, environment, deploymentId: deployment.id },
    service: unit.service,
    artifact: artifactsOf(deployment)[unit.service] as Artifact,
    command: unit.command,
    entrypoint: unit.entrypoint,
    env: environmentOf(unit, plan, env),
    port: unit.port,
    volumes,
    network: unit.service ? { name: networkOf(deployment), also: usedBy.map(networkOf), ...networksFor(unit, plan) } : null,
    allotment: unit.allotment,
    // Its policy holds from the moment on in which it was healthy: a version that crashes at its start is not started twice.
    restart: false,
    ...(unit.labels ? { labels: unit.labels } : {}),
    ...(unit.inlineFiles ? { files: unit.inlineFiles } : {}),
    ...(unit.container ? { container: unit.container } : {}),
    ...(unit.healthProgram === undefined ? {} : { healthProgram: unit.healthProgram }),
  }
}

/** An image by name may have gone from the engine; the organisation's logins fetch it again. */
async function withLogins(request: StartRequest, { image }: Unit, deps: DeploymentsDeps): Promise<StartRequest> {
  const project = image === null ? undefined : await findAnyProject(deps.database.db, request.owner.projectId)
  return project ? { ...request, registryLogins: await deps.registries.loginsOf(project.organizationId) } : request
}

const stopGraceSeconds = 10
const stopMs = 30_000

/** Stops instances and forgets them. Each is marked first, so that one whose stop was cut short is stopped later. */
export async function stopInstances(rows: readonly InstanceRow[], deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { db } = deps.database
  for (const { id } of rows) await updateInstance(db, id, { state: 'retired' })
  await Promise.all(
    rows.map(async ({ id, serverId }) => {
      await deps.runtimes.for(serverId).stop(id, { graceSeconds: stopGraceSeconds }, abort)
      await deleteInstance(db, id)
    }),
  )
}

/**
 * It has nothing left to do. One that nobody called a task has not because it ended well: that is how a database ends when its machine
 * is shut down.
 */
const isSettled = (instance: Instance, unit: Unit, { completed }: InstanceRow): boolean =>
  hasDoneItsWork(instance, unit) && (!unit.staysUp || completed === 1)

/** It runs, or has nothing left to do. */
export const isUp = (instance: Instance | undefined, unit: Unit, row: InstanceRow | undefined): boolean =>
  instance !== undefined &&
  row !== undefined &&
  (instance.state === 'running' || instance.state === 'starting' || isSettled(instance, unit, row))
