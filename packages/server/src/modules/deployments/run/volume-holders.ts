import type { Artifact } from '../../../drivers/runtime/runtime.ts'
import type { DeploymentRow, InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { artifactsOf, type DeployPlan, planOf, type Unit } from '../plan/deployed.ts'
import { withSecrets } from '../plan/snapshot.ts'
import { environmentOf } from '../plan/unit-environment.ts'

/**
 * Whether a unit must be the only writer of its volumes. Two programs that write one volume can corrupt it. So a service that
 * writes a volume never runs beside its older instance: unchanged, it is kept and serves both versions; changed, the old one stops
 * first. The exposed unit is exempt, because it is switched without downtime.
 */
export const isExclusiveWriter = (unit: Unit): boolean => !unit.exposed && unit.volumes.some(({ readOnly }) => !readOnly)

/** Instances of another deployment that must stop before this unit may start. */
export function conflictingWriters(
  unit: Unit,
  plan: DeployPlan,
  other: { plan: DeployPlan; rows: readonly InstanceRow[] },
): InstanceRow[] {
  if (!isExclusiveWriter(unit)) return []
  const written = new Set(unit.volumes.filter(({ readOnly }) => !readOnly).map(({ name }) => name))
  return other.rows.filter((row) => {
    const otherUnit = other.plan.units.find(({ service }) => service === row.service)
    if (!otherUnit || !isExclusiveWriter(otherUnit)) return false
    if (row.service === unit.service) return true
    // The service was renamed.
    const isRemoved = !plan.units.some(({ service }) => service === row.service)
    return isRemoved && otherUnit.volumes.some(({ name, readOnly }) => !readOnly && written.has(name))
  })
}

/** A deployment with its variables. */
export interface DeploymentWithEnv {
  deployment: DeploymentRow
  env: Readonly<Record<string, string>>
}

/** Whether a service would run in the other deployment exactly as it does now. */
export function isSameService(service: string, one: DeploymentWithEnv, other: DeploymentWithEnv): boolean {
  const [left, right] = [one, other].map(({ deployment, env }) => {
    const plan = planOf(deployment)
    const unit = plan.units.find((candidate) => candidate.service === service)
    const artifact = artifactsOf(deployment)[service]
    return unit && artifact ? comparableText(withSecrets(unit, env), artifact, plan, env) : undefined
  })
  return left !== undefined && left === right
}

function comparableText(unit: Unit, artifact: Artifact, plan: DeployPlan, env: Readonly<Record<string, string>>): string {
  // The build, the dependencies and the restart policy do not change the running program.
  const {
    restart: _restart,
    onFailure: _onFailure,
    staysUp: _staysUp,
    build: _build,
    image: _image,
    dependsOn: _dependsOn,
    environment: _environment,
    variables: _variables,
    ...settings
  } = unit
  const variables = Object.entries(environmentOf(unit, plan, env)).sort(([left], [right]) => (left < right ? -1 : 1))
  return JSON.stringify([settings, variables, artifact.content ?? artifact.reference, artifact.startCommand])
}

/** Instances that the new deployment uses without having started them; the switch moves their rows to it. */
export const sharedInstances = (
  plan: DeployPlan,
  oldRows: readonly InstanceRow[],
  newRows: readonly InstanceRow[],
): InstanceRow[] =>
  oldRows.filter(({ service, state }) => {
    const unit = plan.units.find((candidate) => candidate.service === service)
    return state === 'running' && unit !== undefined && isExclusiveWriter(unit) && !newRows.some((row) => row.service === service)
  })
