import type { InstanceRow } from '../../../platform/db/tables/deployments.ts'
import { fail, refuse } from '../../../platform/failure.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { listInstances } from '../instance-store.ts'
import { findLive } from '../live-environments.ts'
import { planOf } from '../plan/deployed.ts'
import { envOf, withSecrets } from '../plan/snapshot.ts'
import { environmentOf } from '../plan/unit-environment.ts'
import { runningUnits } from '../run/run-units.ts'
import { findDeployment } from '../store.ts'

export interface ExecTarget {
  row: InstanceRow
  /** The variables that the instance was started with. */
  env: Record<string, string>
}

/** The live instance to run a program in: the named service, else the exposed one. */
export async function findInstance(
  { projectId, environment, service }: { projectId: string; environment: string; service: string | undefined },
  deps: DeploymentsDeps,
): Promise<ExecTarget> {
  const { db } = deps.database
  const live = await findLive(db, projectId, environment)
  const deployment = live?.deploymentId ? await findDeployment(db, live.deploymentId) : undefined
  if (!live || !deployment?.plan) return fail('conflict', { message: `${environment} has no live deployment. Deploy it first.` })
  const units = runningUnits(deployment)
  if (units.length === 0) return fail('conflict', { message: 'A static site has no container to run a command in' })
  const names = units.map((unit) => unit.service)
  if (service !== undefined && !names.includes(service)) refuse('service', `does not exist; ${serviceListText(names)}`)
  const unit = units.find((one) => (service === undefined ? one.exposed : one.service === service)) ?? units[0]!
  const running = await listInstances(db, { projectId, environment, state: 'running' })
  const candidates = running.filter((row) => row.service === unit.service)
  // An unchanged service keeps running under the deployment that started it.
  const row = candidates.find(({ deploymentId }) => deploymentId === deployment.id) ?? candidates[0]
  if (!row || live.state !== 'live')
    return fail('conflict', { message: notRunningMessages[live.state] ?? 'The project is not running' })
  const startedBy = row.deploymentId === deployment.id ? deployment : ((await findDeployment(db, row.deploymentId)) ?? deployment)
  const env = await envOf(startedBy, deps)
  return { row, env: environmentOf(withSecrets(unit, env), planOf(startedBy), env) }
}

/** The single service of a project without a Compose file has no name. */
const serviceListText = (names: readonly string[]) =>
  names.some(Boolean) ? `the services are ${names.join(', ')}` : 'the project has a single service without a name'

const notRunningMessages: Record<string, string> = {
  sleeping: 'The project is asleep. Open its URL to wake it, then try again.',
  waking: 'The project is waking up. Try again in a moment.',
  stopped: 'The project is stopped. Enable it first.',
}
