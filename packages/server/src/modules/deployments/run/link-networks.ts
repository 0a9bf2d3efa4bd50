import type { Instance, LinkNetwork, StartRequest } from '../../../drivers/runtime/runtime.ts'
import type { DeploymentRow, InstanceRow } from '../../../platform/db/tables/deployments.ts'
import type { LinkRow } from '../../../platform/db/tables/projects.ts'
import type { DeployedLinks } from '../../projects/index.ts'
import { DeployFailed } from '../deploy-failed.ts'
import type { DeploymentsDeps } from '../deps.ts'
import { listInstances } from '../instance-store.ts'
import { isFromFork, planOf, replicasOf, type Unit } from '../plan/deployed.ts'

/** Name of the network between a project and the service that it is linked to. */
export const linkNetworkName = (linkId: string): string => `link/${linkId}`

interface LinkContext {
  deps: DeploymentsDeps
  report: (message: string) => void
  abort: AbortSignal
}

/**
 * Starts an instance on the networks of its project's links, and joins running instances of linked services to them. A link that is
 * deleted meanwhile leaves no network.
 */
export async function startLinked(
  request: StartRequest,
  unit: Pick<Unit, 'service'>,
  deployment: DeploymentRow,
  context: LinkContext,
  start: (request: StartRequest) => Promise<Instance>,
): Promise<{ instance: Instance; links: LinkNetwork[] }> {
  const { uses, serves } = await deployedLinks(deployment, context.deps)
  // All containers of this deployment, and that of the linked service.
  const containers = planOf(deployment).units.reduce((sum, each) => sum + replicasOf(each), 1)
  const used = uses.map(({ id }): LinkNetwork => ({ name: linkNetworkName(id), aliases: [], containers }))
  const links = [...used, ...servedNetworks(serves, unit)]
  if (links.length === 0) return { instance: await start(request), links }
  try {
    for (const [index, link] of uses.entries()) await joinService(link, used[index] as LinkNetwork, deployment, context)
    return { instance: await start({ ...request, links }), links }
  } finally {
    await removeDeleted([...uses, ...(serves?.links ?? [])], deployment, context)
  }
}

/**
 * Joins an instance of a service to links that were created during its start. Called once the row of the instance is `running`:
 * links that are created later are joined by the deployment of the project that uses the service.
 */
export async function joinNewLinks(
  instanceId: string,
  joined: readonly LinkNetwork[],
  unit: Pick<Unit, 'service'>,
  deployment: DeploymentRow,
  { deps, abort }: LinkContext,
): Promise<void> {
  const known = new Set(joined.map(({ name }) => name))
  const { serves } = await deployedLinks(deployment, deps)
  for (const link of servedNetworks(serves, unit))
    if (!known.has(link.name)) await deps.runtimes.for(deployment.serverId).joinLink?.(instanceId, link, abort)
}

const deployedLinks = (deployment: DeploymentRow, { projects }: DeploymentsDeps): Promise<DeployedLinks> => {
  const { projectId, environment } = deployment
  return projects.links.ofDeployment({ projectId, environment, fromFork: isFromFork(deployment) })
}

const servedNetworks = (serves: DeployedLinks['serves'], { service }: Pick<Unit, 'service'>): LinkNetwork[] =>
  serves?.service === service ? serves.links.map(({ id, host }) => ({ name: linkNetworkName(id), aliases: [host] })) : []

/** Removes the networks of links that were deleted since they were read: the start may have created them again. */
async function removeDeleted(
  links: readonly LinkRow[],
  { serverId }: DeploymentRow,
  { deps, abort }: Pick<LinkContext, 'deps' | 'abort'>,
): Promise<void> {
  const existing = await deps.projects.links.existing(links.map(({ id }) => id))
  for (const { id } of links) if (!existing.has(id)) await removeLinkNetwork(id, serverId, deps, abort)
}

/** Joins the instances of a linked service that run already. Others join at their start. */
async function joinService(
  link: LinkRow & { service: string },
  network: LinkNetwork,
  { serverId }: DeploymentRow,
  { deps, report, abort }: LinkContext,
): Promise<void> {
  const runtime = deps.runtimes.for(serverId)
  if (!runtime.joinLink)
    throw new DeployFailed(
      'link_unavailable',
      runtime.refusesServices
        ? `A link ${runtime.refusesServices}. Or delete the link.`
        : 'Links need Docker, and this machine runs plain processes. Install Docker, or delete the link.',
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
