import type { Artifact } from '../../../drivers/runtime/runtime.ts'
import type { DeploymentRow, InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { artifactsOf, type DeployPlan, planOf, type Unit } from '../plan/plan.ts'
import { withSecrets } from '../plan/snapshot.ts'
import { environmentOf } from '../plan/unit-environment.ts'

/**
 * Two programs that write one volume may ruin it, and none of them can tell. So a service that writes a volume is never
 * started beside its older self: where nothing of it changed it stays and serves both versions, else it is handed over.
 * What is exposed is not held to that: it is switched without a gap, as its project wants.
 */
export const isHolder = (unit: Unit): boolean => !unit.exposed && unit.volumes.some(({ readOnly }) => !readOnly)

/** Instances of another deployment that have to make room before this unit may start. */
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
    // It goes by another name now.
    const isGone = !plan.units.some(({ service }) => service === row.service)
    return isGone && theirs.volumes.some(({ name, readOnly }) => !readOnly && written.has(name))
  })
}

/** What makes a unit run as it does. */
export interface Running {
  deployment: DeploymentRow
  env: Readonly<Record<string, string>>
}

/** Whether a service of one deployment would run in another one exactly as it does now. */
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
  // How it is built, what it waits for and whether it is restarted say nothing about what then runs.
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

/** At the switch: what the new version uses without having started it goes over to it. */
export const rowsThatStay = (plan: DeployPlan, old: readonly InstanceRow[], own: readonly InstanceRow[]): InstanceRow[] =>
  old.filter(({ service, state }) => {
    const unit = plan.units.find((candidate) => candidate.service === service)
    return state === 'running' && unit !== undefined && isHolder(unit) && !own.some((row) => row.service === service)
  })
