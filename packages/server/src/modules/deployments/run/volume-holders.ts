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
export const isHolder = (unit: Unit): boolean => !unit.exposed && unit.volumes.some(({ readOnly }) => !readOnly)

/** Instances of another deployment that must stop before this unit may start. */
export function holdersOf(
  unit: Unit,
  plan: DeployPlan,
  other: { plan: DeployPlan; rows: readonly InstanceRow[] },
): InstanceRow[] {
  if (!isHolder(unit)) return []
  const written = new Set(unit.volumes.filter(({ readOnly }) => !readOnly).map(({ name }) => name))
  return other.rows.filter((row) => {
    const theirs = other.plan.units.find(({ service }) => service === row.service)
    if (!theirs || !isHolder(theirs)) return false
    if (row.service === unit.service) return true
    // The service was renamed.
    const isGone = !plan.units.some(({ service }) => service === row.service)
    return isGone && theirs.volumes.some(({ name, readOnly }) => !readOnly && written.has(name))
  })
}

/** A deployment with its variables. */
export interface Running {
  deployment: DeploymentRow
  env: Readonly<Record<string, string>>
}

/** Whether a service would run in the other deployment exactly as it does now. */
export function runsTheSame(service: string, one: Running, other: Running): boolean {
  const [left, right] = [one, other].map(({ deployment, env }) => {
    const plan = planOf(deployment)
    const unit = plan.units.find((candidate) => candidate.service === service)
    const artifact = artifactsOf(deployment)[service]
    return unit && artifact ? asOneText(withSecrets(unit, env), artifact, plan, env) : undefined
  })
  return left !== undefined && left === right
}

function asOneText(unit: Unit, artifact: Artifact, plan: DeployPlan, env: Readonly<Record<string, string>>): string {
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
export const rowsThatStay = (plan: DeployPlan, old: readonly InstanceRow[], own: readonly InstanceRow[]): InstanceRow[] =>
  old.filter(({ service, state }) => {
    const unit = plan.units.find((candidate) => candidate.service === service)
    return state === 'running' && unit !== undefined && isHolder(unit) && !own.some((row) => row.service === service)
  })
