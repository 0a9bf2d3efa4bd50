import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from '../deps.ts'
import type { Unit } from '../plan/deployed.ts'
import { listLiveDeployments, listUnderWay } from '../store.ts'
import type { RunParts } from './run-parts.ts'

type Place = Pick<DeploymentRow, 'projectId' | 'environment'>

/** Serializes stops and starts of old containers: one must not run beside its replacement on the same data. */
const inTurn = <T>(
  { projectId }: Pick<Place, 'projectId'>,
  { turns }: DeploymentsDeps,
  work: () => Promise<T>,
  abort: AbortSignal,
) => turns.run(`predecessors ${projectId}`, work, abort)

export const makeWay = async ({ service }: Unit, { deployment, deps, say, abort }: RunParts): Promise<void> => {
  const { containers } = deps.predecessors
  if (containers) await inTurn(deployment, deps, () => containers.makeWay(deployment, service, say, abort), abort)
}

/** Starts the old containers again, unless a deployment of the project is live: both must not run on the same data. */
export async function giveBackToPredecessors(place: Place, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { containers } = deps.predecessors
  if (!containers) return
  await inTurn(
    place,
    deps,
    async () => {
      const live = await listLiveDeployments(deps.database.db, place.projectId, place.environment)
      if (live.length === 0) await containers.giveBack(place, abort)
    },
    abort,
  )
}

/**
 * Settles adopted containers after a crash or a lost server. Stops them where a deployment is live, else starts them again. A
 * deployment in progress handles its own.
 */
export async function settlePredecessors(serverId: string, deps: DeploymentsDeps, abort: AbortSignal): Promise<void> {
  const { containers } = deps.predecessors
  const here = ((await containers?.unsettled()) ?? []).filter((one) => one.serverId === serverId)
  const { db } = deps.database
  for (const { projectId } of here) {
    const place = { projectId, environment: 'production' }
    await inTurn(
      place,
      deps,
      async () => {
        if ((await listUnderWay(db, projectId, place.environment)).length > 0) return
        const [live] = await listLiveDeployments(db, projectId, place.environment)
        if (live) await containers?.retire(live, () => undefined, abort)
        else await containers?.giveBack(place, abort)
      },
      abort,
    )
  }
}
