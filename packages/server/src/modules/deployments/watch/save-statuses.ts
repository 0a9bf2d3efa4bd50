import type { LiveEnvironmentRow, ServiceState } from '../../../platform/db/tables/deployments.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { newState, statesOf, withStatus } from '../health/service-states.ts'
import { findLive, updateLive } from '../live-environments.ts'
import type { Unit } from '../plan/deployed.ts'
import { servicesLock } from './instance-exits.ts'

/** Status by service name; a service that could not be checked is absent. */
export type Statuses = Map<string, ServiceState['status']>

/** Saves the service states if they changed. Returns the stored ones. */
export async function saveStatuses(
  live: LiveEnvironmentRow,
  units: readonly Unit[],
  statuses: Statuses,
  deps: DeploymentsDeps,
): Promise<ServiceState[]> {
  const before = statesOf(live)
  const updated = withStatuses(before, units, statuses, nowOf(deps))
  if (JSON.stringify(updated) === JSON.stringify(before)) return before
  return deps.database.transaction(async ({ db, lock }) => {
    await lock(servicesLock(live))
    const current = await findLive(db, live.projectId, live.environment)
    if (!current || current.deploymentId !== live.deploymentId) return before
    const states = withStatuses(statesOf(current), units, statuses, nowOf(deps))
    await updateLive(db, live, { services: JSON.stringify(states) })
    return states
  })
}

function withStatuses(states: readonly ServiceState[], units: readonly Unit[], statuses: Statuses, now: number): ServiceState[] {
  return units.map((unit) => {
    const state = states.find(({ name }) => name === unit.service) ?? newState(unit)
    return withStatus(state, statuses.get(unit.service) ?? state.status, now)
  })
}
