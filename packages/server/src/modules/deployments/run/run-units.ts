import type { ContainerSettings } from '@berth/contract'
import type { Artifact, Instance, NetworkRequest, StartRequest } from '../../../drivers/runtime/runtime.ts'
import { StartFailed } from '../../../drivers/runtime/runtime-errors.ts'
import { newId } from '../../../platform/db/ids.ts'
import type { DeploymentRow, InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { findAnyProject } from '../../projects/index.ts'
import { addressOf } from '../addresses.ts'
import { DeployFailed } from '../deploy-failed.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { hasCompleted, waitUntilHealthy } from '../health/health.ts'
import { deleteInstance, insertInstance, listInstances, markStarted, updateInstance } from '../instance-store.ts'
import { artifactsOf, type DeployPlan, deployedConfig, planOf, replicasOf, type Unit } from '../plan/deployed.ts'
import { inDependencyOrder } from '../plan/run-concurrently.ts'
import { withSecrets } from '../plan/snapshot.ts'
import { environmentOf } from '../plan/unit-environment.ts'
import { joinNewLinks, startLinked } from './link-networks.ts'
import type { StartContext, UnitStartContext } from './run-parts.ts'
import { stopForTakeover } from './takeover.ts'
import { volumesFor } from './unit-volumes.ts'
import { handOverVolumes } from './volume-handover.ts'

/** Signal topic: an instance was started. */
export const instancesTopic = 'instances'

/** Units that run as instances; the edge serves a static project from disk. */
export const runningUnits = (deployment: DeploymentRow): Unit[] => {
  const { type, units } = planOf(deployment)
  return type === 'static' ? [] : units
}

/** Each required instance, with its row if it exists. */
export const requiredInstances = (
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
 * Starts the units of a deployment beside other running instances, each once its dependencies are healthy. A row is written before
 * the runtime is called, and an existing row is reused: after a crash no unknown instance runs, and none runs twice.
 */
export async function startUnits(context: StartContext, onlyServices?: ReadonlySet<string>): Promise<InstanceRow[]> {
  const { deployment, deps } = context
  const units = runningUnits(deployment).filter(({ service }) => onlyServices?.has(service) ?? true)
  const artifacts = deployment.artifacts === null ? {} : artifactsOf(deployment)
  const rows = await inDependencyOrder(units, context.abort, async (unit, abort) => {
    const started: InstanceRow[] = []
    for (let replica = 1; replica <= replicasOf(unit); replica++)
      started.push(await startUnit(withSecrets(unit, context.env), replica, { ...context, artifacts, abort }))
    const isDependency = units.some(({ dependsOn }) => dependsOn.includes(unit.service))
    if (isDependency && !unit.exposed)
      for (const row of started)
        await waitUntilHealthy(row, withSecrets(unit, context.env), healthOf(deployment, unit), { deps, abort })
    return started
  })
  return rows.flat()
}

/** The health check of a unit. The project's path applies to the exposed unit; other services only have to accept a connection. */
export function healthOf(deployment: DeploymentRow, unit: Unit) {
  const { healthCheck } = deployedConfig(deployment)
  if (unit.healthPath && !healthCheck?.path) return { ...healthCheck, path: unit.healthPath }
  return unit.exposed ? healthCheck : { timeoutSeconds: healthCheck?.timeoutSeconds }
}

async function startUnit(unit: Unit, replica: number, context: UnitStartContext): Promise<InstanceRow> {
  const { deployment, deps, report, abort } = context
  const { db } = deps.database
  const volumes = await volumesFor(unit, context)
  await stopForTakeover(unit, context)
  const handover = await handOverVolumes(unit, replica, context, (rows) => stopInstances(rows, deps, abort))
  if (handover.shared) {
    const runtime = deps.runtimes.for(handover.shared.serverId)
    const request = await withLogins(requestFor(handover.shared, unit, volumes, context), unit, deps)
    await startLinked(request, unit, deployment, context, (linked) => runtime.start(linked, abort))
    return handover.shared
  }
  const row = await instanceFor(deployment, unit, replica, deps)
  const runtime = deps.runtimes.for(row.serverId)
  const existing = await runtime.inspect(row.id)
  if (existing && hasFinished(existing, unit, row)) return row
  report(`Starting ${unit.service}${replicasOf(unit) > 1 ? ` (${replica} of ${replicasOf(unit)})` : ''}`.trim())
  try {
    // An instance that the runtime does not know has no output yet.
    if (row.logPosition !== null && !existing) await updateInstance(db, row.id, { logPosition: null })
    const request = await withLogins(requestFor(row, unit, volumes, context, handover.usedBy), unit, deps)
    const { instance, links } = await startLinked(request, unit, deployment, context, (linked) => runtime.start(linked, abort))
    const runningColumns = { state: 'running' as const, ...addressOf(instance) }
    if (!(await markStarted(db, row.id, runningColumns))) {
      // The instance was stopped, or its project deleted, while it was starting.
      await runtime.stop(row.id, { graceSeconds: stopGraceSeconds }, AbortSignal.timeout(stopTimeoutMs))
      throw new DeployFailed('stopped', 'The instance was stopped while it was starting')
    }
    deps.database.signals.publish(instancesTopic, { started: row.id })
    await joinNewLinks(row.id, links, unit, deployment, context)
    return { ...row, ...runningColumns }
  } catch (error) {
    if (error instanceof StartFailed) throw new DeployFailed('start_failed', error.message, [], { cause: error })
    throw error
  }
}

async function instanceFor(deployment: DeploymentRow, unit: Unit, replica: number, deps: DeploymentsDeps): Promise<InstanceRow> {
  const instances = await listInstances(deps.database.db, { deploymentId: deployment.id })
  const started = instances.find((row) => row.service === unit.service && row.replica === replica && row.state !== 'retired')
  if (started) return started
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
    machineId: deployment.serverId === null ? deps.machineId : null,
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

/** Each deployment has its own network, so a service name never resolves to another version. */
const networkOf = ({ projectId, environment, id }: Pick<DeploymentRow, 'projectId' | 'environment' | 'id'>) =>
  `${projectId}-${environment}-${id}`

/** The networks that a unit joins. Without networks in the plan, all units share one. */
function networksFor(unit: Unit, { units }: DeployPlan): Pick<NetworkRequest, 'aliases' | 'services' | 'parts'> {
  const aliases = [unit.service, ...(unit.container?.aliases ?? [])]
  const services = units.reduce((sum, one) => sum + replicasOf(one), 0)
  if (units.every(({ container }) => !container?.networks)) return { aliases, services }
  const all = units.flatMap((one) => networksOf(one).map((network) => ({ ...network, containers: replicasOf(one) })))
  const parts = networksOf(unit).map(({ name, aliases: ownAliases = [] }) => {
    const sameNetwork = all.filter((network) => network.name === name)
    const internal = sameNetwork.some((network) => network.internal === true)
    const containers = sameNetwork.reduce((sum, one) => sum + one.containers, 0)
    return { name, internal, aliases: [...new Set([...aliases, ...ownAliases])], services: containers }
  })
  return { aliases, services, parts }
}

/** A service without networks joins the default one, as in Compose. */
const networksOf = ({ container }: Unit): NonNullable<ContainerSettings['networks']> =>
  container?.networks ?? [{ name: 'default' }]

export function requestFor(
  row: Pick<InstanceRow, 'id'>,
  unit: Unit,
  volumes: StartRequest['volumes'],
  { deployment, env, artifacts }: UnitStartContext,
  usedBy: DeploymentRow[] = [],
): StartRequest {
  const { projectId, environment } = deployment
  const plan = planOf(deployment)
  return {
    instanceId: row.id,
    owner: { projectId, environment, deploymentId: deployment.id },
    service: unit.service,
    artifact: artifacts[unit.service] as Artifact,
    command: unit.command,
    entrypoint: unit.entrypoint,
    env: environmentOf(unit, plan, env),
    port: unit.port,
    volumes,
    network: unit.service ? { name: networkOf(deployment), also: usedBy.map(networkOf), ...networksFor(unit, plan) } : null,
    resources: unit.allotment,
    // The restart policy is set once the unit is healthy, so a version that crashes at startup is not restarted.
    restart: false,
    ...(unit.labels ? { labels: unit.labels } : {}),
    ...(unit.inlineFiles ? { files: unit.inlineFiles } : {}),
    ...(unit.container ? { container: unit.container } : {}),
    ...(unit.healthProgram === undefined ? {} : { healthProgram: unit.healthProgram }),
  }
}

/** Adds the organisation's registry credentials: a named image may have been removed from the engine and must be pulled again. */
export async function withLogins(request: StartRequest, { image }: Unit, deps: DeploymentsDeps): Promise<StartRequest> {
  const project = image === null ? undefined : await findAnyProject(deps.database.db, request.owner.projectId)
  return project ? { ...request, registryLogins: await deps.registries.loginsOf(project.organizationId) } : request
}

const stopGraceSeconds = 10
const stopTimeoutMs = 30_000

/** Stops instances and deletes their rows. They are marked `retired` first, so that an interrupted stop is resumed later. */
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
 * Whether the instance has finished its work. A service not declared as a task has not: a database also exits with 0 when its
 * machine shuts down.
 */
const hasFinished = (instance: Instance, unit: Unit, { completed }: InstanceRow): boolean =>
  hasCompleted(instance, unit) && (!unit.staysUp || completed === 1)

/** Whether the instance runs or has finished its work. */
export const isUp = (instance: Instance | undefined, unit: Unit, row: InstanceRow | undefined): boolean =>
  instance !== undefined &&
  row !== undefined &&
  (instance.state === 'running' || instance.state === 'starting' || hasFinished(instance, unit, row))
