import type { Instance } from '../../../drivers/runtime/runtime.ts'
import type { InstanceRow, LiveEnvironmentRow, ServiceState } from '../../../platform/db/tables/deployments.ts'
import type { TransactionContext } from '../../../platform/transaction.ts'
import { saveRestarts } from '../../projects/index.ts'
import { type DeploymentsDeps, nowOf } from '../deps.ts'
import { crashLoopText, exitText, isLooping, isRecorded, newState, stateAfterExit, statesOf } from '../health/service-states.ts'
import { findInstance } from '../instance-store.ts'
import { findLive, updateLive } from '../live-environments.ts'
import { announceHealth } from '../power/sleep.ts'
import { runningUnits } from '../run/run-units.ts'
import { findDeployment } from '../store.ts'

/** Records each exit that a runtime reports, one after the other per instance. Returns the function that stops it. */
export function watchExits(deps: DeploymentsDeps): () => void {
  return deps.runtimes.onChange(({ instance, kind }) => {
    if (kind !== 'exited' && kind !== 'restarted' && kind !== 'crash_loop') return
    const { instanceId } = instance
    deps.locks
      .run(`ends:${instanceId}`, () => recordExit(instance, deps))
      .catch((error: unknown) => deps.log.warn({ err: error, instanceId }, 'deployments: exit of an instance not recorded yet'))
  })
}

/**
 * Records the last exit of an instance in the environment's row, the metrics and the project's log, and raises an alarm on a crash
 * loop. An exit is recorded once, even if it is reported several times or to several control planes.
 */
export async function recordExit(instance: Instance, deps: DeploymentsDeps): Promise<void> {
  const { lastEnd } = instance
  if (!lastEnd) return
  const row = await findInstance(deps.database.db, instance.instanceId)
  // An instance that is being stopped or does not serve yet: its deployment reports the exit.
  if (row?.state !== 'running') return
  const recorded = await deps.database.transaction(async (transaction) => {
    await transaction.lock(servicesLock(row))
    const live = await findLive(transaction.db, row.projectId, row.environment)
    if (live?.deploymentId !== row.deploymentId) return null
    const states = await readStates(live, transaction)
    const before = states.find(({ name }) => name === row.service)
    if (!before || isRecorded(before, lastEnd)) return null
    const { state, count } = stateAfterExit(before, instance, nowOf(deps))
    await saveExit(live, { states, before, state, count }, transaction, deps)
    return count > 0 || state.status === 'completed' ? state : null
  })
  if (recorded) await logExit(row, recorded, deps)
}

export const servicesLock = ({ projectId, environment }: Pick<InstanceRow, 'projectId' | 'environment'>) =>
  `services:${projectId}:${environment}`

/** Service states; derived from the plan for an environment from before they were recorded. */
async function readStates(live: LiveEnvironmentRow, { db }: TransactionContext): Promise<ServiceState[]> {
  if (live.services !== null) return statesOf(live)
  const deployment = live.deploymentId ? await findDeployment(db, live.deploymentId) : undefined
  return deployment?.plan ? runningUnits(deployment).map(newState) : []
}

async function saveExit(
  live: LiveEnvironmentRow,
  { states, before, state, count }: { states: ServiceState[]; before: ServiceState; state: ServiceState; count: number },
  transaction: TransactionContext,
  deps: DeploymentsDeps,
): Promise<void> {
  const { projectId, environment } = live
  const services = JSON.stringify(states.map((one) => (one === before ? state : one)))
  const isCrashLoop = count > 0 && isLooping(state, nowOf(deps))
  const health = isCrashLoop ? ({ health: 'unhealthy', healthReason: crashLoopText(state) } as const) : {}
  await updateLive(transaction.db, live, { services, ...health })
  if (count > 0) await saveRestarts(transaction.db, { projectId, environment, at: Date.parse(state.lastExit?.at ?? ''), count })
  if (isCrashLoop && live.health !== 'unhealthy')
    await announceHealth(transaction, 'project.unhealthy', projectId, crashLoopText(state))
}

const logExit = (row: InstanceRow, state: ServiceState, { logStore }: DeploymentsDeps): Promise<void> =>
  logStore.append(row.projectId, 'runtime', [
    {
      time: state.lastExit?.at ?? '',
      stream: 'stderr',
      message: exitText(state) ?? '',
      environment: row.environment,
      service: row.service || null,
      deploymentId: row.deploymentId,
    },
  ])
