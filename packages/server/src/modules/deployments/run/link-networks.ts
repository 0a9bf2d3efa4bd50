import type { LinkNetwork, StartRequest } from '../../../drivers/runtime/runtime.ts'
import type { DeploymentRow, InstanceRow } from '../../../platform/db/tables/deployments.ts'
import type { LinkRow } from '../../../platform/db/tables/projects.ts'
import { DeployFailed } from '../deploy-failed.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { listInstances } from '../instance-store.ts'
import { isFromFork, planOf, replicasOf, type Unit } from '../plan/deployed.ts'

/** Name of the network between a project and the service that it is linked to. */
export const linkNetworkName = (linkId: string): string => `link/${linkId}`

/** Adds the networks of links to the request, and joins running instances of linked services to them. */
export async function withLinks(
  request: StartRequest,
  { service }: Pick<Unit, 'service'>,
  deployment: DeploymentRow,
  { deps, report, abort }: { deps: DeploymentsDeps; report: (message: string) => void; abort: AbortSignal },
): Promise<StartRequest> {
  const { projectId, environment } = deployment
  const { uses, serves } = await deps.projects.links.ofDeployment({ projectId, environment, fromFork: isFromFork(deployment) })
  const containers = planOf(deployment).units.reduce((sum, unit) => sum + replicasOf(unit), 1)
  const used = uses.map(({ id }): LinkNetwork => ({ name: linkNetworkName(id), aliases: [], containers }))
  for (const [index, link] of uses.entries())
    await joinService(link, used[index] as LinkNetwork, deployment, { deps, report, abort })
  const served =
    serves?.service === service ? serves.links.map(({ id, host }) => ({ name: linkNetworkName(id), aliases: [host] })) : []
  const links = [...used, ...served]
  return links.length === 0 ? request : { ...request, links }
}

/** Joins the instances of a linked service that run already. Others join at their start. */
async function joinService(
  link: LinkRow & { service: string },
  network: LinkNetwork,
  { serverId }: DeploymentRow,
  { deps, report, abort }: { deps: DeploymentsDeps; report: (message: string) => void; abort: AbortSignal },
): Promise<void> {
  const runtime = deps.runtimes.for(serverId)
  if (!runtime.joinLink)
    throw new DeployFailed(
      'link_unavailable',
      'Links need Docker, and this machine runs plain processes. Install Docker, or delete the link.',
    )
  const instances = await serviceInstances(link, deps)
  if (instances.some((row) => row.serverId !== serverId))
    throw new DeployFailed(
      'link_unavailable',
      `The linked service ${link.host} runs on another machine. A link needs both projects on the same one.`,
    )
  if (instances.length === 0) report(`Warning: the linked service ${link.host} is not running`)
  for (const { id } of instances) await runtime.joinLink(id, { ...network, aliases: [link.host] }, abort)
}

async function serviceInstances(
  { serviceProjectId, service }: LinkRow & { service: string },
  deps: DeploymentsDeps,
): Promise<InstanceRow[]> {
  const filter = { projectId: serviceProjectId, environment: 'production', state: 'running' } as const
  return (await listInstances(deps.database.db, filter)).filter((row) => row.service === service)
}

/** Removes the network of a deleted link. The instances keep running without it. */
export async function removeLinkNetwork(
  linkId: string,
  serverId: string | null,
  { runtimes }: Pick<DeploymentsDeps, 'runtimes'>,
  abort: AbortSignal,
): Promise<void> {
  await runtimes.for(serverId).removeLink?.(linkNetworkName(linkId), abort)
}
