import type { DeploymentRow } from '../../../platform/db/tables/deployments.ts'
import type { DeploymentsDeps } from '../deps.ts'
import type { Unit } from '../plan/plan.ts'
import { listLiveDeployments, listUnderWay } from '../store.ts'
import type { RunParts } from './run-parts.ts'

type Place = Pick<DeploymentRow, 'projectId' | 'environment'>

/** What stops an old container and what starts it again take turns: it must not run beside its successor on the same data. */
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

/** Only while no version of the project serves: it and its predecessors must not run on the same data. */
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
 * What a deployment left half done when its server went away for good, or we did: where a version serves its predecessors
 * stop, where none does they run again. A deployment that is under way does so by itself.
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
